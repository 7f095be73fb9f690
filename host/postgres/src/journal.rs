//! Leases and journals of turns in the database, for several processes.
//!
//! A turn's lease is `session:TAPE`. One call claims it, and answers what an interrupted turn left or what the turn
//! will read ([`Snapshot`]). Records of the journal are collected in memory and written behind the turn, each part by
//! one statement that the lease fences; they are waited for before an effect outside of the tape alone. Records that a
//! crash takes from memory were seen by their turn alone. The release is one statement behind the answer, which also
//! empties the journal.

mod held;
mod holder;
mod records;
mod state;

use std::sync::Arc;
use std::time::Duration;

use bub_tape::{Error, Future, HeldJournal, Holder, JournalBackend, Lookup, Queues, Result, Store, check_tape_name};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::lease::{Fence, Leases, new_owner, now};
use super::store::{PostgresStore, damaged};
use super::turn_store::{MAX_BYTES, MAX_ENTRIES, MAX_SIDECARS, Snapshot, lookup_columns};
use held::TurnJournal;
pub(crate) use state::TurnState;

/// The call of the schema's function.
const CLAIM: &str = concat!(
    "SELECT what, tape, place, id, kind, payload, meta, date, CASE WHEN what IN ('claimed', 'held') THEN ",
    mark!(expression),
    " END AS mark FROM claim_turn_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);

/// How long to wait before a message is logged.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// How often a lease is asked for.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// How much longer than allowed a lease is waited for whose process renews it no more.
const GRACE: Duration = Duration::from_secs(1);

/// Settings of turns.
#[derive(Clone, Debug)]
pub struct TurnSettings {
    /// How long a turn waits for another turn of its session.
    pub lock_wait: Duration,
    /// The lookups of turns on their tapes. Their answers come with the lease.
    pub lookups: Vec<Lookup>,
}

/// The leases and journals of turns, beside the tapes of a database.
pub struct PostgresJournals {
    shared: Arc<Shared>,
}

/// The state that the claims of this process share.
struct Shared {
    store: Arc<PostgresStore>,
    leases: Leases,
    settings: TurnSettings,
    queues: Queues,
    /// How many releases have begun and not ended.
    releases: watch::Sender<usize>,
}

/// The answer to a claim.
enum Claim {
    Claimed(Arc<TurnJournal>),
    Held { left: Duration, holder: Option<Holder> },
}

impl PostgresJournals {
    /// Journals of the turns that write to that store.
    pub fn new(store: Arc<PostgresStore>, leases: Leases, settings: TurnSettings) -> Self {
        let (queues, releases) = (Queues::default(), watch::channel(0).0);
        Self { shared: Arc::new(Shared { store, leases, settings, queues, releases }) }
    }

    async fn wait(&self, tape: &str) -> Result<Arc<dyn HeldJournal>> {
        check_tape_name(tape)?;
        let waited = self.shared.settings.lock_wait;
        let (begun, mut reported) = (Instant::now(), false);
        let deadline = begun + waited;
        let queue = self.shared.queues.get(tape);
        let soon = deadline.min(begun + REPORT_AFTER);
        let own = || Some(Holder { pid: std::process::id(), host: None });
        let mut turn = match timeout_at(soon, Arc::clone(&queue).lock_owned()).await {
            Ok(turn) => turn,
            Err(_) => {
                bub_tape::report_wait(own().as_ref(), waited);
                reported = true;
                let late = |_| Error::Busy { waited, holder: own() };
                timeout_at(deadline, queue.lock_owned()).await.map_err(late)?
            }
        };
        let mut pause = MIN_PAUSE;
        loop {
            // In a task of its own: a claim whose caller has gone is made nevertheless, and then released.
            let claim = tokio::spawn(claim(Arc::clone(&self.shared), tape.to_owned(), turn));
            let failed = |error: tokio::task::JoinError| Error::Io {
                action: format!("claim `{}`", lease_name(tape)),
                source: std::io::Error::other(error),
            };
            let (left, holder) = match claim.await.map_err(failed)?? {
                (Claim::Claimed(journal), _) => return Ok(journal),
                (Claim::Held { left, holder }, queued) => {
                    let Some(queued) = queued else { return Err(damaged()) };
                    turn = queued;
                    (left, holder)
                }
            };
            let now = Instant::now();
            if now >= deadline && now + left > deadline + GRACE {
                return Err(Error::Busy { waited, holder });
            }
            if !reported && now >= begun + REPORT_AFTER {
                bub_tape::report_wait(holder.as_ref(), waited);
                reported = true;
            }
            sleep(pause.min(left.max(MIN_PAUSE))).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// The holder of a lease, and the records of its tape's journal.
    async fn look(&self, tape: &str) -> Result<(Option<Option<Holder>>, Vec<u8>)> {
        check_tape_name(tape)?;
        let statement = "SELECT l.until > clock_timestamp(), l.holder, j.records FROM lease l \
                         LEFT JOIN journal j ON j.lease = l.name WHERE l.name = $1 ORDER BY j.epoch, j.part";
        let action = format!("read the journal of tape `{tape}`");
        let lease = lease_name(tape);
        let rows = self.shared.leases.database().query(&action, statement, &[&lease]).await?;
        let (mut held, mut records) = (None, Vec::new());
        for row in &rows {
            let is_held: Option<bool> = row.try_get(0).map_err(|_| damaged())?;
            let holder: Option<&[u8]> = row.try_get(1).map_err(|_| damaged())?;
            held = is_held.unwrap_or_default().then(|| holder.and_then(holder::decode));
            let part: Option<&[u8]> = row.try_get(2).map_err(|_| damaged())?;
            records.extend_from_slice(part.unwrap_or_default());
        }
        Ok((held, records))
    }
}

/// The name of the lease of a tape's turns.
fn lease_name(tape: &str) -> String {
    format!("session:{tape}")
}

/// Asks for a lease once. The queue's lock comes back unless the lease was claimed.
async fn claim(
    shared: Arc<Shared>,
    tape: String,
    turn: OwnedMutexGuard<()>,
) -> Result<(Claim, Option<OwnedMutexGuard<()>>)> {
    let lease = lease_name(&tape);
    let action = format!("claim `{lease}`");
    let asked = now();
    let owner = new_owner(&action)?;
    let (kinds, names) = lookup_columns(&shared.settings.lookups);
    let values: [(&(dyn ToSql + Sync), Type); 10] = [
        (&lease, Type::TEXT),
        (&owner.as_slice(), Type::BYTEA),
        (&holder::encode(), Type::BYTEA),
        (&shared.leases.terms().milliseconds(), Type::FLOAT8),
        (&tape, Type::TEXT),
        (&kinds, Type::BYTEA_ARRAY),
        (&names, Type::BYTEA_ARRAY),
        (&MAX_ENTRIES, Type::INT4),
        (&MAX_BYTES, Type::INT8),
        (&MAX_SIDECARS, Type::INT4),
    ];
    // Not repeated under the same owner: after a failover a request that was late could revive a claim whose holder has
    // read what the failover lost.
    let rows = shared.leases.database().call(&action, CLAIM, &values, false).await?;
    let what = |row: &Row| row.try_get::<_, String>(0).map_err(|_| damaged());
    let Some((first, rest)) = rows.split_first() else { return Err(damaged()) };
    let number: Option<i64> = first.try_get(3).map_err(|_| damaged())?;
    if what(first)? == "held" {
        let holder: Option<&[u8]> = first.try_get(5).map_err(|_| damaged())?;
        let left = Duration::from_millis(u64::try_from(number.unwrap_or_default()).unwrap_or_default());
        return Ok((Claim::Held { left, holder: holder.and_then(holder::decode) }, Some(turn)));
    }
    let fence = Fence { name: lease, epoch: number.ok_or_else(damaged)?, owner };
    let lease = shared.leases.hold(fence.clone(), asked);
    // From here on a failure releases it.
    let state = Arc::new(TurnState::new(&shared.store, lease, fence, tape));
    let journal = TurnJournal::new(Arc::clone(&shared), Arc::clone(&state), turn);
    let mut left = Vec::new();
    for row in rest {
        if what(row)? == "left" {
            let part: &[u8] = row.try_get(5).map_err(|_| damaged())?;
            left.extend_from_slice(part);
        }
    }
    match left.is_empty() {
        true => state.show(Snapshot::read(state.tape(), &shared.settings.lookups, rest)?),
        false => journal.keep_left(left),
    }
    Ok((Claim::Claimed(Arc::new(journal)), None))
}

impl JournalBackend for PostgresJournals {
    fn acquire<'a>(&'a self, tape: &'a str) -> Future<'a, Arc<dyn HeldJournal>> {
        Box::pin(self.wait(tape))
    }

    fn holder<'a>(&'a self, tape: &'a str) -> Future<'a, Option<Holder>> {
        Box::pin(async move { Ok(self.look(tape).await?.0.flatten()) })
    }

    fn left<'a>(&'a self, tape: &'a str, waits: bool) -> Future<'a, Vec<u8>> {
        Box::pin(async move {
            let begun = Instant::now();
            let waited = self.shared.settings.lock_wait.max(self.shared.leases.terms().lease) + GRACE;
            loop {
                let (held, records) = self.look(tape).await?;
                let Some(holder) = held else { return Ok(records) };
                if !waits {
                    return Ok(Vec::new());
                }
                if begun.elapsed() >= waited {
                    return Err(Error::Busy { waited, holder });
                }
                sleep(MAX_PAUSE).await;
            }
        })
    }

    /// A claim is a write.
    fn proves_writable(&self, store: &Arc<dyn Store>) -> bool {
        self.shared.is_own(store)
    }

    fn released(&self) -> Future<'_, ()> {
        Box::pin(async {
            let mut releases = self.shared.releases.subscribe();
            // The sender is part of `self`.
            let _none = releases.wait_for(|releases| *releases == 0).await;
            Ok(())
        })
    }
}

impl Shared {
    /// Whether that is the store whose writes the leases fence.
    fn is_own(&self, store: &Arc<dyn Store>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(store), Arc::as_ptr(&self.store))
    }
}
