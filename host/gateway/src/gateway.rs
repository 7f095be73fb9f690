//! The gateway's state. The handling of messages is in the other modules, a stage each.

use super::channels::Channels;
use super::cluster::{Cluster, ClusterStatus};
use super::debounce::Debounce;
use super::event_log::{EventLog, EventReader};
use super::inbox::{Inbox, MessageNumber};
use super::lock::ServeLock;
use super::outbox::Outbox;
use super::session_queues::SessionQueues;
use super::shared_inbox::ElsewhereTurn;
use super::task::{Refusal, Reply};
use super::turn_feed::{Stage, TurnFeeds};
use super::turn_limiter::TurnLimiter;
use bub_runtime::host::Host;
use bub_tape::tape_name;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The first and the longest pause before a retry on a channel that fails.
pub(crate) const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The gateway of one home.
pub struct Gateway {
    /// The current host. A turn, a poll or a delivery reads it once, when it starts.
    pub(crate) host: RwLock<Arc<Host>>,
    pub(crate) inbox: Arc<dyn Inbox>,
    /// The other workers of the database, where there is one.
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) event_log: EventLog,
    pub(crate) session_queues: SessionQueues,
    /// The streams of turns.
    pub(crate) feeds: TurnFeeds,
    pub(crate) outbox: Outbox,
    pub(crate) channels: Channels,
    pub(crate) debounce: Debounce,
    /// Replies to messages with an id whose turns have not ended: a message that arrives again gets the same reply.
    pub(crate) pending_replies: Mutex<HashMap<MessageNumber, Reply>>,
    pub(crate) turn_limiter: TurnLimiter,
    /// Messages that wait for their turns.
    pub(crate) waiting: AtomicUsize,
    /// Cancelled when the gateway stops.
    pub(crate) stopping: CancellationToken,
    /// Tasks that [`Gateway::stop`] waits for: all between the arrival of a message and the end of its turn.
    pub(crate) message_tasks: TaskTracker,
    pub(crate) _lock: ServeLock,
}

/// A turn that runs.
#[derive(Debug, Clone)]
pub struct RunningTurn {
    /// Its session.
    pub session_id: String,
    /// When it began.
    pub since: Timestamp,
    /// What it does now.
    pub stage: Stage,
    /// Model calls so far that ended in tool calls.
    pub steps: u64,
}

impl Gateway {
    /// Checks that the gateway accepts messages now: called before a body is read, and again when a message is submitted.
    ///
    /// # Errors
    ///
    /// The gateway stops, or too many messages wait.
    pub fn check_open(&self) -> Result<(), Refusal> {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        if self.waiting.load(Ordering::Relaxed) >= self.host().config.serve.max_waiting {
            return Err(Refusal::Busy);
        }
        Ok(())
    }

    /// The number of running turns, and of messages that wait for theirs.
    pub fn load(&self) -> (usize, usize) {
        let waiting = self.waiting.load(Ordering::Relaxed) + self.debounce.len();
        (self.turn_limiter.running(), waiting)
    }

    /// The number of answers that wait for delivery.
    pub fn undelivered(&self) -> usize {
        self.outbox.len()
    }

    /// The host of the turns that start now.
    pub fn host(&self) -> Arc<Host> {
        self.host.read().clone()
    }

    /// Whether the gateway has stopped accepting messages.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// The turns that run in this process, those that began first before the others.
    pub fn running_turns(&self) -> Vec<RunningTurn> {
        let running = self.session_queues.running().into_iter().filter_map(|session_id| {
            let feed = self.feeds.running(&session_id)?;
            let (stage, steps) = feed.stage();
            Some(RunningTurn { session_id, since: feed.since, stage, steps })
        });
        let mut running: Vec<RunningTurn> = running.collect();
        running.sort_by_key(|turn| turn.since);
        running
    }

    /// The turns that run at other workers.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read.
    pub async fn running_elsewhere(&self) -> anyhow::Result<Vec<ElsewhereTurn>> {
        match &self.cluster {
            Some(cluster) => cluster.inbox.running_elsewhere().await,
            None => Ok(Vec::new()),
        }
    }

    /// Whether a turn of the session runs, and how many messages wait for theirs, at all workers.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read.
    pub async fn load_of(&self, session: &str) -> anyhow::Result<(bool, usize)> {
        match &self.cluster {
            Some(cluster) => {
                let tape = tape_name(&self.host().workspace, session);
                Ok(cluster.inbox.loads(&[&tape]).await?.remove(&tape).unwrap_or_default())
            }
            None => Ok(self.session_queues.load(session)),
        }
    }

    /// As [`load_of`](Self::load_of), of sessions with these tapes, in order.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read.
    pub async fn loads_of(&self, sessions: &[(String, String)]) -> anyhow::Result<Vec<(bool, usize)>> {
        let Some(cluster) = &self.cluster else {
            return Ok(sessions.iter().map(|(session, _)| self.session_queues.load(session)).collect());
        };
        let tapes: Vec<&str> = sessions.iter().map(|(_, tape)| tape.as_str()).collect();
        let loads = cluster.inbox.loads(&tapes).await?;
        Ok(tapes.iter().map(|tape| loads.get(*tape).copied().unwrap_or_default()).collect())
    }

    /// A reader of the events after a cursor, or of those from now on.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read.
    pub async fn read_events(&self, after: Option<i64>) -> anyhow::Result<EventReader> {
        self.event_log.read(after).await
    }

    /// The status that all workers of the database have in common; without a database, that of this process. `None`:
    /// the database does not answer.
    pub async fn cluster_status(&self) -> Option<ClusterStatus> {
        let Some(cluster) = &self.cluster else {
            return Some(ClusterStatus { waiting: self.load().1, ..ClusterStatus::default() });
        };
        cluster
            .status()
            .await
            .inspect_err(|error| tracing::warn!("the queue of all workers is not known: {error:#}"))
            .ok()
    }

    /// At most `max` sessions whose ids begin with `session_prefix`, in order after `after`, each with its tape.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read.
    pub async fn sessions(
        &self,
        session_prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> anyhow::Result<Vec<(String, String)>> {
        self.inbox.sessions(session_prefix.to_owned(), after.map(str::to_owned), max).await
    }

    /// The session of a tape, if it had a message through this gateway.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read.
    pub async fn session_of(&self, tape: &str) -> anyhow::Result<Option<String>> {
        self.inbox.session_of(tape.to_owned()).await
    }

    /// Stops the turn that runs in the session, at whichever worker. Returns whether one runs.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be written.
    pub async fn stop_turn(&self, session: &str) -> anyhow::Result<bool> {
        if self.session_queues.stop(session) {
            return Ok(true);
        }
        match &self.cluster {
            Some(cluster) => cluster.inbox.stop(&tape_name(&self.host().workspace, session)).await,
            None => Ok(false),
        }
    }

    /// Runs work that must not end halfway: it goes on if the caller drops the future, and [`Gateway::stop`] waits for it.
    ///
    /// # Errors
    ///
    /// The gateway stops, or the work has panicked.
    pub async fn complete<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Refusal> {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        self.message_tasks.spawn(work).await.map_err(|error| Refusal::Storage(error.into()))
    }
}
