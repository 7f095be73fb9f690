//! Accepts messages: deduplicates them, asks for their admission and queues them by session.

use super::TurnOutcome;
use super::gateway::Gateway;
use super::inbox::{Accepted, NewMessage, SessionTape};
use super::session_queues::Enqueued;
use super::task::{Refusal, Reply, ReplySender, Submission, Task};
use bub_runtime::hooks;
use bub_runtime::hooks::Admission;
use bub_runtime::host::RuntimeEvent;
use bub_runtime::turn::{AttributedMessage, CallScope};
use bub_tape::tape_name;
use bub_types::hook::Hook;
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
    /// The message was refused; no part of it is stored.
    pub async fn submit(self: &Arc<Self>, submission: Submission) -> Result<Reply, Refusal> {
        // Where workers share messages, one that is stored must not be left behind halfway.
        if submission.message.id.is_none() && self.cluster.is_none() {
            return Arc::clone(self).accept(submission).await;
        }
        // A stored message has its turn even if its client has disconnected by then.
        let accepted = self.message_tasks.spawn(Arc::clone(self).accept(submission)).await;
        accepted.unwrap_or_else(|error| Err(Refusal::Storage(error.into())))
    }

    async fn accept(self: Arc<Self>, submission: Submission) -> Result<Reply, Refusal> {
        self.check_open()?;
        let Submission {
            message,
            identity,
            listener,
            session_prefix,
            leave,
            earlier,
            lease,
            quota_account,
            call,
            trace,
        } = submission;
        // Before anything is stored: a key that is refused today can be used again tomorrow.
        if let (Some(account), Some(session)) = (&quota_account, message.session_id.as_deref())
            && !is_ephemeral(session)
        {
            self.charge_message(session, account, &message).await?;
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
            call,
            trace,
            interrupted_since: None,
            place: None,
            begun_as: None,
            losses: self.losses(),
        };
        let is_kept = task.call.is_none() && !task.said.message.session_id.as_deref().is_some_and(is_ephemeral);
        if task.said.message.id.is_some() || (self.cluster.is_some() && is_kept) {
            let session = self.session_at_once(&mut task).await;
            let membership = self.membership();
            let accepting = self.accepting().await;
            let new = NewMessage { message: task.said.message.clone(), identity, is_active: true, session };
            match self.inbox.accept(vec![new], None).await.map_err(Refusal::Storage)?.pop() {
                Some(Accepted::New { number, place, has_begun }) => {
                    task.numbers.push(number);
                    task.place = place;
                    task.begun_as = membership.filter(|_| has_begun);
                    self.pending_replies.lock().insert(number, reply.clone());
                }
                Some(Accepted::Pending(number)) => {
                    let pending = self.pending_replies.lock().get(&number).cloned();
                    let reply = match (pending, &self.cluster) {
                        (Some(reply), _) => reply,
                        (None, Some(cluster)) => {
                            cluster.expect(number, task.reply_sender);
                            reply
                        }
                        (None, None) => return Err(Refusal::Busy),
                    };
                    if let (Some(listener), Some(session)) = (task.listener, task.said.message.session_id) {
                        self.relay(session, number, listener, reply.clone());
                    }
                    return Ok(reply);
                }
                Some(Accepted::Done(outcome)) => {
                    return outcome.map(Reply::from_outcome).ok_or(Refusal::IdempotencyConflict);
                }
                Some(Accepted::Conflict) | None => return Err(Refusal::IdempotencyConflict),
            }
            drop(accepting);
        }
        self.admit(task).await?;
        Ok(reply)
    }

    /// The session of a message that can be queued when it is accepted, in the same write: where workers share messages, and
    /// no plugin decides whether this one is admitted.
    async fn session_at_once(&self, task: &mut Task) -> Option<SessionTape> {
        self.cluster.as_ref()?;
        let host = self.host();
        let calls = CallScope::with_identity(&host, task.said.identity.clone());
        if calls.granted(Hook::AdmitMessage).next().is_some() {
            return None;
        }
        // A failure is met again when the message is admitted, after it was stored.
        let session = bub_runtime::turn::resolve_session(&calls, &task.said.message).await.ok()?;
        task.said.message.session_id = Some(session.clone());
        session.starts_with(&task.session_prefix).then(|| self.session_tape(&session))
    }

    /// A session with its tape.
    pub(super) fn session_tape(&self, session: &str) -> SessionTape {
        let tape = tape_name(&self.host().workspace, session);
        SessionTape { session: (!is_ephemeral(session)).then(|| session.to_owned()), tape }
    }

    /// Resolves the session of a message, asks the plugins for its admission, and queues it.
    pub(super) async fn admit(self: &Arc<Self>, mut task: Task) -> Result<(), Refusal> {
        let host = self.host();
        let calls = CallScope::with_identity(&host, task.said.identity.clone());
        let message = &mut task.said.message;
        let resolved = match message.session_id.clone().filter(|_| task.place.is_some() || task.call.is_some()) {
            // It was resolved before it was queued; a call names its own.
            Some(session) => Ok(session),
            None => bub_runtime::turn::resolve_session(&calls, message).await,
        };
        let session = match resolved {
            Ok(session) => session,
            Err(failure) => {
                hooks::notify_observers(&calls, None, "resolve_session", &failure.to_error(), Some(message)).await;
                let outcome = TurnOutcome::failed(message.session_id.clone().unwrap_or_default(), &failure);
                self.finish(vec![task], outcome, Vec::new(), None).await;
                return Ok(());
            }
        };
        // A plugin may have moved the message to another session; the token's scope takes precedence.
        if !session.starts_with(&task.session_prefix) {
            self.finish(vec![task], TurnOutcome::silent(session), Vec::new(), None).await;
            return Err(Refusal::OutOfScope);
        }
        message.session_id = Some(session.clone());
        self.record_session(&session).await;
        let taken = RuntimeEvent::Taken { channel: message.channel.clone() };
        let admission = match message.kind {
            // A command is a turn of its own, and no part of a conversation; so is a client's own call.
            MessageKind::Command => None,
            _ if task.call.is_some() => None,
            _ if calls.granted(Hook::AdmitMessage).next().is_none() => None,
            _ => {
                let load = self.load_of(&session).await.map_err(Refusal::Storage)?;
                hooks::admit_message(&calls, message, load).await
            }
        };
        let bound = match task.said.message.id {
            None => host.config.serve.max_waiting_per_session,
            // A message that can be asked for again must not be lost.
            Some(_) => usize::MAX,
        };
        if admission == Some(Admission::Drop) {
            host.events.publish(taken, &session);
            self.finish(vec![task], TurnOutcome::silent(session), Vec::new(), None).await;
            return Ok(());
        }
        if task.place.is_none() && !task.numbers.is_empty() {
            let place = self.inbox.queue(task.numbers.clone(), self.session_tape(&session)).await;
            task.place = place.map_err(Refusal::Storage)?;
        }
        let numbers = task.numbers.clone();
        let steers = admission == Some(Admission::Steer);
        let enqueued = self.enqueue(session.clone(), task, steers, bound).await;
        if !matches!(enqueued, Enqueued::Full) {
            host.events.publish(taken, &session);
        }
        match (enqueued, &self.cluster, &numbers[..]) {
            (Enqueued::Full, _, numbers) => {
                // Another worker would wait for it.
                let refused = self.inbox.finish(numbers.to_vec(), None, Vec::new()).await;
                return Err(refused.map_or_else(Refusal::Storage, |_| Refusal::Busy));
            }
            (Enqueued::Waiting | Enqueued::Started, Some(cluster), [number]) if steers => cluster.offer(*number).await,
            _ => {}
        }
        Ok(())
    }

    /// Queues a message, or gives it to the running turn.
    pub(super) async fn enqueue(self: &Arc<Self>, session: String, task: Task, steers: bool, bound: usize) -> Enqueued {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let numbers = task.numbers.clone();
        let follows = task.listener.clone().map(|listener| (listener, task.reply_sender.reply()));
        let enqueued = self.session_queues.push(&session, task, steers, bound);
        if let (Enqueued::Steered, [number, ..]) = (&enqueued, &numbers[..]) {
            if let Some((listener, reply)) = follows {
                self.relay(session.clone(), *number, listener, reply);
            }
            self.feeds.join(&session, &numbers);
        }
        match enqueued {
            Enqueued::Waiting => {}
            Enqueued::Steered if numbers.is_empty() => {}
            Enqueued::Steered => {
                // Its turn may be over before this is stored; then a crash in between makes it a turn of its own.
                if let Err(error) = self.inbox.begin_steered(numbers).await {
                    tracing::error!("a message that steers a turn is not marked as part of it: {error:#}");
                }
            }
            Enqueued::Started => drop(self.message_tasks.spawn(Arc::clone(self).run_session(session))),
            Enqueued::Full => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
        enqueued
    }
}
