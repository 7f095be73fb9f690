//! The other workers of a database, as this one sees them: leases, offers of steering, and outcomes of turns that run at
//! them.

use super::TurnOutcome;
use super::inbox::MessageNumber;
use super::shared_inbox::{Ended, SharedInbox};
use super::task::ReplySender;
use anyhow::Result;
use bub_postgres::{Database, Lease, Terms};
use bub_types::{Error, ErrorKind};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, RwLock};
use tokio::time::sleep;

/// How often a worker looks at the database for what concerns it, at most and at least; notifications come before.
const LOOK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(1000));

/// The state of the workers of a database.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClusterStatus {
    /// Messages that wait for their turns at all workers.
    pub waiting: usize,
    /// The age of the oldest of them, in seconds.
    pub oldest: f64,
    /// Leases that are held by all workers: of workers, sessions and channels.
    pub leases: usize,
    /// Messages and answers that this worker has taken over since it started.
    pub adopted: u64,
    /// Writes of this worker that were refused since it started, because another one had taken over.
    pub fenced: u64,
}

/// The other workers, as this one sees them.
pub(crate) struct Cluster {
    pub(crate) inbox: Arc<SharedInbox>,
    /// Notified when something may have changed at other workers.
    pub(crate) changed: Notify,
    /// Held while messages are accepted and become known here, so that none of them looks as if it was forgotten.
    pub(crate) accepting: RwLock<()>,
    /// Senders that wait for the outcome of a turn at another worker.
    elsewhere: Mutex<HashMap<MessageNumber, Vec<ReplySender>>>,
    /// The tapes whose turns are followed at some worker.
    pub(crate) followed: Mutex<HashSet<String>>,
    /// Messages and answers of workers that have ended, taken over here.
    pub(crate) adopted: AtomicU64,
}

impl Cluster {
    /// Joins the workers of a database.
    pub(crate) async fn join(database: &Database, terms: Terms) -> Result<Self> {
        Ok(Self {
            inbox: Arc::new(SharedInbox::join(database, terms).await?),
            changed: Notify::new(),
            accepting: RwLock::default(),
            elsewhere: Mutex::default(),
            followed: Mutex::default(),
            adopted: AtomicU64::new(0),
        })
    }

    /// Waits until something may have changed at other workers.
    pub(crate) async fn changed(&self) {
        tokio::select! {
            () = self.changed.notified() => {}
            () = sleep(jitter()) => {}
        }
    }

    /// Whether the turns of a tape are followed at some worker.
    pub(crate) fn is_followed(&self, tape: &str) -> bool {
        self.followed.lock().contains(tape)
    }

    /// Sends the outcome of a message when its turn has ended, at whichever worker.
    pub(crate) fn expect(&self, number: MessageNumber, sender: ReplySender) {
        self.elsewhere.lock().entry(number).or_default().push(sender);
    }

    /// Offers a message to the turn that runs in its session at another worker. Without one it waits for its own turn.
    pub(crate) async fn offer(&self, number: MessageNumber) {
        if let Err(error) = self.inbox.offer(number).await {
            tracing::warn!("a message is not offered to the running turn, and waits for its own: {error:#}");
        }
    }

    /// The lease of the worker that polls a channel: `held`, as long as it is valid, or a new one; `None`: another worker
    /// has it.
    pub(crate) async fn poll_lease(&self, channel: &str, held: Option<Lease>) -> Option<Lease> {
        if let Some(held) = held.filter(Lease::is_valid) {
            return Some(held);
        }
        match self.inbox.worker().leases().claim(&format!("poll:{channel}")).await {
            Ok(lease) => lease,
            Err(error) => {
                tracing::warn!("channel `{channel}` is not polled: {error}");
                None
            }
        }
    }

    /// The state of all workers.
    pub(crate) async fn status(&self) -> Result<ClusterStatus> {
        let (waiting, oldest, leases) = self.inbox.totals().await?;
        let (adopted, fenced) = (self.adopted.load(Ordering::Relaxed), self.inbox.fenced());
        Ok(ClusterStatus { waiting, oldest, leases, adopted, fenced })
    }

    /// Sends the outcomes that are known by now.
    pub(crate) async fn resolve(&self) -> Result<()> {
        let numbers: Vec<MessageNumber> = self.elsewhere.lock().keys().copied().collect();
        if numbers.is_empty() {
            return Ok(());
        }
        for (number, ended) in self.inbox.outcomes(&numbers).await? {
            let senders = self.elsewhere.lock().remove(&number).unwrap_or_default();
            let outcome = Arc::new(match ended {
                Ended::With(outcome) => outcome,
                Ended::Unknown => unknown(),
                Ended::Lost => lost(String::new()),
            });
            senders.iter().for_each(|sender| sender.send(&outcome));
        }
        Ok(())
    }
}

/// A pause within [`LOOK`].
pub(crate) fn jitter() -> Duration {
    let chance = std::hash::RandomState::new().build_hasher().finish();
    let range = LOOK.1 - LOOK.0;
    LOOK.0 + range.mul_f64(f64::from(u16::try_from(chance >> 48).unwrap_or_default()) / 65536.0)
}

/// The outcome of a message that a failover may have lost.
pub(crate) fn lost(session: String) -> TurnOutcome {
    let message = "the database has failed over and lost writes that it had acknowledged: this message or its turn may be \
                   among them; send it again with the same `Idempotency-Key`";
    let error = Some(Error::new(ErrorKind::Temporary, message.to_owned()));
    TurnOutcome { error, ..TurnOutcome::silent(session) }
}

/// The outcome of a message whose own was not kept.
fn unknown() -> TurnOutcome {
    let message =
        "the worker of this turn lost its lease; send an `Idempotency-Key` to get the outcome of another attempt";
    let error = Some(Error::new(ErrorKind::Temporary, message.to_owned()));
    TurnOutcome { error, ..TurnOutcome::silent(String::new()) }
}
