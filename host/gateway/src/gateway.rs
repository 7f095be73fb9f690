//! The gateway's state. What it does with messages is in the other modules, a stage each.

use super::channels::Channels;
use super::debounce::Debounce;
use super::inbox_db::{InboxDb, MessageNumber};
use super::lock::ServeLock;
use super::outbox::Outbox;
use super::quota::ByteCounts;
use super::session_queues::SessionQueues;
use super::sessions::Sessions;
use super::task::{Refusal, Reply};
use super::turn_limiter::TurnLimiter;
use bub_runtime::host::Host;
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
    pub(crate) inbox_db: InboxDb,
    pub(crate) sessions: Sessions,
    pub(crate) session_queues: SessionQueues,
    pub(crate) outbox: Outbox,
    pub(crate) byte_counts: ByteCounts,
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

    /// Whether a turn of the session runs, and how many messages wait for theirs.
    pub fn load_of(&self, session: &str) -> (bool, usize) {
        self.session_queues.load(session)
    }

    /// At most `max` sessions whose ids begin with `session_prefix`, in order after `after`, each with its tape.
    pub fn sessions(&self, session_prefix: &str, after: Option<&str>, max: usize) -> Vec<(String, String)> {
        self.sessions.list(session_prefix, after, max)
    }

    /// The session of a tape, if it had a message through this gateway.
    pub fn session_of(&self, tape: &str) -> Option<String> {
        self.sessions.session_of(tape)
    }
}
