//! Accepts messages: deduplicates them, asks for their admission and queues them by session.

use super::TurnOutcome;
use super::gateway::Gateway;
use super::inbox_db::{Accepted, NewMessage};
use super::session_queues::Enqueued;
use super::task::{Refusal, Reply, ReplySender, Submission, Task};
use bub_runtime::hooks;
use bub_runtime::hooks::Admission;
use bub_runtime::host::RuntimeEvent;
use bub_runtime::turn::{AttributedMessage, CallScope};
use bub_types::{MessageKind, is_ephemeral};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
            && !is_ephemeral(session)
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

    /// Resolves the session of a message, asks the plugins for its admission, and queues it.
    pub(super) async fn admit(self: &Arc<Self>, mut task: Task) -> Result<(), Refusal> {
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
