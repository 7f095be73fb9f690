//! Turns messages into turns and delivers their answers: one turn at a time per session, many sessions concurrently.
//!
//! A message with an id is written to the inbox database before its channel is told that it was accepted, and the answers
//! of a turn before that turn counts as done. A process that crashes loses neither: the next one continues with both.

#![warn(missing_docs, unreachable_pub)]

mod channels;
mod debounce;
mod gc;
mod inbox_db;
mod live_preview;
mod lock;
mod outbox;
mod outcome;
mod quota;
mod recovery;
mod run;
mod session_queues;
mod sessions;
mod start;
mod task;
mod turn_limiter;

use bub_runtime::hooks;
use bub_runtime::hooks::Admission;
use bub_runtime::host::{Host, RuntimeEvent};
use bub_runtime::turn::{AttributedMessage, CallScope, EPHEMERAL_PREFIX};
use bub_types::MessageKind;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use channels::Channels;
pub use channels::WebhookError;
use debounce::Debounce;
use inbox_db::{Accepted, InboxDb, MessageNumber, NewMessage};
use lock::ServeLock;
use outbox::Outbox;
pub use outcome::TurnOutcome;
use quota::ByteCounts;
pub use quota::{QuotaAccount, QuotaExceeded};
pub use run::HTTP;
use session_queues::{Enqueued, SessionQueues};
use sessions::Sessions;
pub use task::{Lease, Refusal, Reply, Submission};
use task::{ReplySender, Task};
use turn_limiter::TurnLimiter;

/// The first and the longest pause before a retry on a channel that fails.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The gateway of one home.
pub struct Gateway {
    /// The current host. A turn, a poll or a delivery reads it once, when it starts.
    host: RwLock<Arc<Host>>,
    inbox_db: InboxDb,
    sessions: Sessions,
    session_queues: SessionQueues,
    outbox: Outbox,
    byte_counts: ByteCounts,
    channels: Channels,
    debounce: Debounce,
    /// Replies to messages with an id whose turns have not ended: a message that arrives again gets the same reply.
    pending_replies: Mutex<HashMap<MessageNumber, Reply>>,
    turn_limiter: TurnLimiter,
    /// Messages that wait for their turns.
    waiting: AtomicUsize,
    /// Cancelled when the gateway stops.
    stopping: CancellationToken,
    /// Tasks that [`Gateway::stop`] waits for: all between the arrival of a message and the end of its turn.
    message_tasks: TaskTracker,
    _lock: ServeLock,
}

impl Gateway {
    /// Accepts a message; its turn starts when its session is free.
    ///
    /// Cancel safe: a message with an id is accepted even if the caller drops the future.
    ///
    /// # Errors
    ///
    /// The message was refused; nothing of it is stored.
    pub async fn submit(self: &Arc<Self>, submission: Submission) -> Result<Reply, Refusal> {
        if submission.message.id.is_none() {
            return Arc::clone(self).accept(submission).await;
        }
        // A stored message has its turn even if its client has disconnected by then.
        let accepted = self.message_tasks.spawn(Arc::clone(self).accept(submission)).await;
        accepted.unwrap_or_else(|error| Err(Refusal::Storage(error.into())))
    }

    async fn accept(self: Arc<Self>, submission: Submission) -> Result<Reply, Refusal> {
        self.check_open()?;
        let Submission { message, identity, listener, session_prefix, leave, earlier, lease, quota_account } =
            submission;
        // Before anything is stored: a key that is refused today can be used again tomorrow.
        if let (Some(account), Some(session)) = (&quota_account, message.session_id.as_deref())
            && !session.starts_with(EPHEMERAL_PREFIX)
        {
            self.charge_message(session, account, &message).await.map_err(Refusal::Quota)?;
        }
        let said = AttributedMessage { message, identity: identity.clone() };
        let (reply_sender, reply) = ReplySender::new();
        let leases = lease.into_iter().collect();
        let mut task = Task {
            numbers: Vec::new(),
            said,
            listener,
            leave,
            session_prefix,
            earlier,
            reply_sender,
            leases,
            quota_account,
            interrupted_since: None,
        };
        if task.said.message.id.is_some() {
            let new = NewMessage { message: task.said.message.clone(), identity, is_active: true };
            match self.inbox_db.accept(vec![new], None).await.map_err(Refusal::Storage)?.pop() {
                Some(Accepted::New(number)) => {
                    task.numbers.push(number);
                    self.pending_replies.lock().insert(number, reply.clone());
                }
                Some(Accepted::Pending(number)) => {
                    return self.pending_replies.lock().get(&number).cloned().ok_or(Refusal::Busy);
                }
                Some(Accepted::Done(outcome)) => {
                    return outcome.map(Reply::from_outcome).ok_or(Refusal::IdempotencyConflict);
                }
                Some(Accepted::Conflict) | None => return Err(Refusal::IdempotencyConflict),
            }
        }
        self.admit(task).await?;
        Ok(reply)
    }

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

    /// Replaces the host for the turns, polls and deliveries that start from now on. Running turns keep the host that they
    /// started with; polls restart, because one may wait for hours.
    pub async fn reload(self: &Arc<Self>, host: Arc<Host>) {
        self.turn_limiter.resize(host.config.serve.max_turns);
        *self.host.write() = host;
        self.refresh_channels().await;
    }

    /// Whether the gateway has stopped accepting messages.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Resolves the session of a message, asks the plugins for its admission, and queues it.
    async fn admit(self: &Arc<Self>, mut task: Task) -> Result<(), Refusal> {
        let host = self.host();
        let calls = CallScope::with_identity(&host, task.said.identity.clone());
        let message = &mut task.said.message;
        let session = match bub_runtime::turn::resolve_session(&calls, message).await {
            Ok(session) => session,
            Err(failure) => {
                hooks::notify_observers(&calls, None, "resolve_session", &failure.to_error(), Some(message)).await;
                let outcome = TurnOutcome::failed(message.session_id.clone().unwrap_or_default(), &failure);
                self.finish(vec![task], outcome, Vec::new()).await;
                return Ok(());
            }
        };
        // A plugin may have moved the message to another session; the token's scope takes precedence.
        if !session.starts_with(&task.session_prefix) {
            self.finish(vec![task], TurnOutcome::silent(session), Vec::new()).await;
            return Err(Refusal::OutOfScope);
        }
        message.session_id = Some(session.clone());
        self.record_session(&session).await;
        let taken = RuntimeEvent::Taken { channel: message.channel.clone() };
        let load = self.session_queues.load(&session);
        let admission = match message.kind {
            // A command is a turn of its own, and no part of a conversation.
            MessageKind::Command => None,
            _ => hooks::admit_message(&calls, message, load).await,
        };
        let bound = match task.numbers.is_empty() {
            true => host.config.serve.max_waiting_per_session,
            // A stored message must not be lost.
            false => usize::MAX,
        };
        if admission == Some(Admission::Drop) {
            host.events.publish(taken, &session);
            self.finish(vec![task], TurnOutcome::silent(session), Vec::new()).await;
            return Ok(());
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        match self.session_queues.push(&session, task, admission == Some(Admission::Steer), bound) {
            Enqueued::Waiting => host.events.publish(taken, &session),
            Enqueued::Started => {
                host.events.publish(taken, &session);
                drop(self.message_tasks.spawn(Arc::clone(self).run_session(session)));
            }
            Enqueued::Full => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return Err(Refusal::Busy);
            }
        }
        Ok(())
    }
}
