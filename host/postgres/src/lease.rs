//! Leases: which process may write in the name of something, such as a session.
//!
//! The rules, which `tests/all/leases` checks over random schedules, leaving out each once:
//!
//! 1. A claim takes a lease that is free or has expired, by the database's clock alone, and raises its epoch.
//! 2. The owner is a random number of the claim: should a failover lose the claim, and its epoch be given out again, even to
//!    the same process, the owner still differs. The epoch orders claims.
//! 3. A renewal, a release and a write match the epoch and the owner.
//! 4. A write locks the lease's row in its own transaction. Whether the row exists is not enough: it could be claimed
//!    between that look and the write.
//! 5. The holder counts the time from before its request was sent, so it stops before anyone else may begin ([`Held`]).
//! 6. A renewal that matches nothing ends the lease at once.
//! 7. An effect outside of the database is announced by a write before it is done. A worker that finds the announcement
//!    without a result does not repeat the effect.
//! 8. A write that was not answered is repeated under its key, and done once.

mod clock;
mod held;

use std::sync::Arc;
use std::time::Duration;

use bub_tape::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::database::Database;
use super::store::damaged;
pub use held::{Held, Terms};

/// Claims a lease that is free or has expired, and answers its epoch.
const CLAIM: &str = concat!(
    "INSERT INTO lease AS l (name, epoch, owner, until) \
     VALUES ($1, 1, $2, clock_timestamp() + $3 * interval '1 millisecond') \
     ON CONFLICT (name) DO UPDATE SET epoch = l.epoch + 1, owner = excluded.owner, \
     until = clock_timestamp() + $3 * interval '1 millisecond' \
     WHERE l.until IS NULL OR l.until <= clock_timestamp() RETURNING epoch, ",
    mark!()
);

/// Notices a failover while nothing else is written. That a renewal was lost does not matter.
const RENEW: &str = concat!(
    "UPDATE lease SET until = clock_timestamp() + $4 * interval '1 millisecond' \
     WHERE name = $1 AND epoch = $2 AND owner = $3 AND until IS NOT NULL \
     RETURNING 1, concat_ws(' ', 0, ",
    mark!(place),
    ") AS mark"
);

const RELEASE: &str = "UPDATE lease SET until = NULL WHERE name = $1 AND epoch = $2 AND owner = $3 RETURNING 1";

/// How long the holder waits after a renewal that was not answered.
const RETRY: Duration = Duration::from_millis(500);

/// How often the holder looks at the clock.
const LOOK: Duration = Duration::from_secs(1);

/// The identity of a claim. A write with it is done only as long as no other holder has claimed the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    pub(crate) name: String,
    pub(crate) epoch: i64,
    pub(crate) owner: [u8; 16],
}

impl Fence {
    /// The name of the lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the claim, for a statement that checks it.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The owner of the claim, for a statement that checks it.
    pub fn owner(&self) -> &[u8] {
        &self.owner
    }

    /// The error of a write whose lease is another owner's.
    pub(crate) fn lost(&self) -> Error {
        Error::LeaseLost { lease: self.name.clone() }
    }
}

/// The leases of a database, for one process.
#[derive(Clone)]
pub struct Leases {
    database: Database,
    terms: Terms,
}

impl Leases {
    /// Leases under these terms.
    pub fn new(database: Database, terms: Terms) -> Self {
        Self { database, terms }
    }

    /// Claims a lease and renews it from then on; `None`: another process, or another part of this one, holds it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer, or the system has no random numbers. The claim may have been made: it
    /// expires.
    pub async fn claim(&self, name: &str) -> Result<Option<Lease>> {
        let asked = clock::now();
        let action = format!("claim `{name}`");
        let owner = new_owner(&action)?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&name, &owner.as_slice(), &self.terms.milliseconds()];
        let rows = self.database.write(&action, CLAIM, &values, false).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let epoch = row.try_get(0).map_err(|_| damaged())?;
        Ok(Some(self.hold(Fence { name: name.to_owned(), epoch, owner }, asked)))
    }

    /// Renews a lease from now on that was claimed by a request of [that time](now).
    pub(crate) fn hold(&self, fence: Fence, asked: Duration) -> Lease {
        let held = Arc::new(Mutex::new(Held::claimed(self.terms, asked)));
        let (ended, lost) = watch::channel(false);
        let renewal = tokio::spawn(renew(self.clone(), fence.clone(), held.clone(), ended)).abort_handle();
        Lease { leases: self.clone(), fence, held, lost, renewal }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn terms(&self) -> Terms {
        self.terms
    }
}

/// A random owner for a claim.
pub(crate) fn new_owner(action: &str) -> Result<[u8; 16]> {
    let mut owner = [0; 16];
    let failed = |error: getrandom::Error| Error::Io {
        action: action.to_owned(),
        source: std::io::Error::other(error.to_string()),
    };
    getrandom::fill(&mut owner).map_err(failed)?;
    Ok(owner)
}

/// The time by the clock of leases.
pub(crate) fn now() -> Duration {
    clock::now()
}

/// A lease that this process holds. Dropped without [`Lease::release`], it expires.
pub struct Lease {
    leases: Leases,
    fence: Fence,
    held: Arc<Mutex<Held>>,
    lost: watch::Receiver<bool>,
    renewal: AbortHandle,
}

impl Lease {
    /// The fence that writes in the name of the lease carry.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether no other holder can have it: to be asked right before an effect outside of the database.
    pub fn is_valid(&self) -> bool {
        self.held.lock().is_valid(clock::now())
    }

    /// Ends when the lease is lost.
    pub async fn lost(&self) {
        let mut lost = self.lost.clone();
        // An error: the renewal has ended, and no more than that.
        let _ended = lost.wait_for(|lost| *lost).await;
    }

    /// Ends the renewals, before a statement that releases the lease.
    pub(crate) fn end_renewals(&self) {
        self.renewal.abort();
    }

    /// Gives the lease back, so that the next claim need not wait. Returns whether it was still held.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer: the lease expires.
    pub async fn release(&self) -> Result<bool> {
        self.renewal.abort();
        let Fence { name, epoch, owner } = &self.fence;
        let action = format!("release `{name}`");
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] = [name, epoch, &owner.as_slice()];
        Ok(!self.leases.database.write(&action, RELEASE, &values, true).await?.is_empty())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// Renews a lease until it is lost.
async fn renew(leases: Leases, fence: Fence, held: Arc<Mutex<Held>>, ended: watch::Sender<bool>) {
    let Fence { name, epoch, owner } = &fence;
    let (action, milliseconds) = (format!("renew `{name}`"), leases.terms.milliseconds());
    loop {
        let now = clock::now();
        let (wait, left) = {
            let held = held.lock();
            (held.next_renewal().saturating_sub(now), held.left(now))
        };
        if left.is_zero() {
            break;
        }
        // Timers stand still while the machine is suspended, unlike the lease.
        tokio::time::sleep(wait.min(left).min(LOOK)).await;
        if clock::now() < held.lock().next_renewal() {
            continue;
        }
        let asked = clock::now();
        let left = held.lock().left(asked);
        let owner = owner.as_slice();
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [name, epoch, &owner, &milliseconds];
        let asking = leases.database.write(&action, RENEW, &values, true);
        match tokio::time::timeout(left, asking).await {
            Ok(Ok(rows)) => held.lock().answered(asked, !rows.is_empty()),
            Ok(Err(error)) => {
                tracing::warn!("{error}");
                tokio::time::sleep(RETRY.min(left)).await;
            }
            // It has expired meanwhile.
            Err(_) => {}
        }
    }
    tracing::warn!("`{name}` was not renewed in time, or another process has taken it over");
    ended.send_replace(true);
}
