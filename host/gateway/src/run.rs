//! Runs the messages of a session, one turn at a time.

use super::TurnOutcome;
use super::gateway::Gateway;
use super::inbox_db::{MessageNumber, Outbound};
use super::recovery::RecoveredTurn;
use super::task::Task;
use bub_runtime::channel::{Channel, reply};
use bub_runtime::error::Failure;
use bub_runtime::host::{Host, RuntimeEvent};
use bub_runtime::turn::{Steering, TurnOptions, run_turn};
use bub_tape::{failpoint, run_id};
use bub_types::{Envelope, MessageKind, is_ephemeral};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::{mpsc, watch};

/// The channel of HTTP requests. Its answers are responses, and are not delivered otherwise.
pub const HTTP: &str = "http";

/// Buffered events between a turn and its preview.
const MAX_EVENTS: usize = 64;

/// Collects the answers of a turn until it has ended, so that all or none of them are stored.
#[derive(Default)]
struct CollectingChannel(Mutex<Vec<Envelope>>);

impl Channel for CollectingChannel {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        self.0.lock().push(envelope.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Gateway {
    /// Runs the messages of a session until its queue is empty.
    pub(super) async fn run_session(self: Arc<Self>, session: String) {
        while let Some(task) = self.session_queues.pop(&session) {
            let slot = self.turn_limiter.acquire().await;
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.run_task(&session, task).await;
            drop(slot);
        }
    }

    async fn run_task(self: &Arc<Self>, session: &str, task: Task) {
        if let Some(since) = &task.interrupted_since {
            match self.recover_turn(session, &task.said.message, since).await {
                RecoveredTurn::Ended(outcome) => {
                    let outbounds = outbounds(&run_id(), answer_to(&task.said.message, &outcome));
                    return self.finish(vec![task], outcome, outbounds).await;
                }
                RecoveredTurn::Restartable => {}
            }
        }
        if !task.numbers.is_empty()
            && let Err(error) = self.inbox_db.mark_running(task.numbers.clone()).await
        {
            // The next process runs the turn. If this one ran it without a record, it could run twice.
            tracing::error!("a message on channel `{}` waits for the next start: {error}", task.said.message.channel);
            let failure = Failure::Channel("the inbox database cannot be written".to_owned());
            task.reply_sender.send(&Arc::new(TurnOutcome::failed(session.to_owned(), &failure)));
            return;
        }
        let started = Instant::now();
        // The turn keeps the configuration that it starts with.
        let host = self.host();
        host.events.publish(RuntimeEvent::TurnBegins, session);
        failpoint::point("gateway.begun");
        let (outcome, outbounds) = self.run_turn(&host, session, &task).await;
        failpoint::point("gateway.ran");
        let error = outcome.error.as_ref().map(|error| error.message.clone());
        host.events.publish(RuntimeEvent::TurnEnds { took: started.elapsed(), usage: outcome.usage, error }, session);
        let steered = self.session_queues.end_steering(session);
        self.waiting.fetch_sub(steered.len(), Ordering::Relaxed);
        self.finish(std::iter::once(task).chain(steered).collect(), outcome, outbounds).await;
    }

    /// Runs a turn, and returns its outcome with the answers to deliver.
    async fn run_turn(self: &Arc<Self>, host: &Arc<Host>, session: &str, task: &Task) -> (TurnOutcome, Vec<Outbound>) {
        let collected = Arc::new(CollectingChannel::default());
        let steering = Steering::default();
        let never = watch::channel(false);
        let cancel = task.leave.clone().unwrap_or(never.1);
        let mut options = TurnOptions::new(cancel)
            .with_session(session.to_owned())
            .with_identity(task.said.identity.clone())
            .with_channel(collected.clone())
            .with_steering(steering.clone())
            .with_history(task.earlier.clone());
        let name = run_id();
        let mut preview = None;
        if let Some(listener) = &task.listener {
            options = options.with_listener(listener.clone());
        } else if let Some(channel) = self
            .channels
            .get(target(&task.said.message))
            .filter(|channel| channel.supports_edits && host.config.stream_output)
        {
            let (listener, events) = mpsc::channel(MAX_EVENTS);
            options = options.with_listener(listener);
            let message = reply(session, &task.said.message, "");
            let shown = Arc::clone(self).show_preview(Arc::clone(host), channel, message, key(&name, 0), events);
            preview = Some(tokio::spawn(shown));
        }
        if task.said.message.kind != MessageKind::Command {
            self.session_queues.enable_steering(session, steering);
        }
        let host = Arc::clone(host);
        let message = task.said.message.clone();
        // A panic ends this turn, and not its session.
        let result = tokio::spawn(async move { run_turn(&host, message, options).await }).await;
        let mut answers = std::mem::take(&mut *collected.0.lock());
        let outcome = match result {
            // The answers as they are delivered: with their media, and without those that a plugin has delivered.
            Ok(Ok(result)) => TurnOutcome { outbounds: answers.clone(), ..TurnOutcome::from(result) },
            Ok(Err(failure)) => {
                TurnOutcome { outbounds: answers.clone(), ..TurnOutcome::failed(session.to_owned(), &failure) }
            }
            Err(error) => {
                tracing::error!("a turn of session `{session}` panicked: {error}");
                TurnOutcome::failed(session.to_owned(), &Failure::Channel("the turn panicked".to_owned()))
            }
        };
        answers.retain(|envelope| target(envelope) != HTTP);
        let mut outbounds = outbounds(&name, answers);
        if let Some(preview) = preview {
            let handle = preview.await.unwrap_or_default();
            // The first answer to that chat replaces the preview.
            let chat = (target(&task.said.message), &task.said.message.chat_id);
            let first = outbounds.iter_mut().find(|next| (target(&next.message), &next.message.chat_id) == chat);
            first.into_iter().for_each(|first| first.handle.clone_from(&handle));
        }
        (outcome, outbounds)
    }

    /// Stores that the turn of these messages has ended, resolves their replies, and delivers the answers.
    pub(super) async fn finish(self: &Arc<Self>, tasks: Vec<Task>, outcome: TurnOutcome, outbounds: Vec<Outbound>) {
        let numbers: Vec<MessageNumber> = tasks.iter().flat_map(|task| task.numbers.iter().copied()).collect();
        let outcome = Arc::new(outcome);
        if !(numbers.is_empty() && outbounds.is_empty()) {
            // Only an HTTP client can ask again, with its `Idempotency-Key`.
            let is_kept = tasks.iter().any(|task| task.said.message.channel == HTTP);
            let kept = is_kept.then(|| serde_json::to_string(&*outcome).unwrap_or_default());
            if let Err(error) = self.inbox_db.mark_done(numbers.clone(), kept, outbounds.clone()).await {
                tracing::error!("the end of a turn of session `{}` is not stored: {error}", outcome.session_id);
            }
        }
        if let Some(account) = tasks.iter().find_map(|task| task.quota_account.as_ref())
            && !is_ephemeral(&outcome.session_id)
        {
            self.charge_answer(account, outcome.model_output.len()).await;
        }
        failpoint::point("gateway.ended");
        tasks.iter().for_each(|task| task.reply_sender.send(&outcome));
        let mut replies = self.pending_replies.lock();
        numbers.iter().for_each(|number| drop(replies.remove(number)));
        drop(replies);
        self.deliver(outbounds);
    }
}

/// The answers of a turn of that name, each with a key of its own.
fn outbounds(name: &str, answers: Vec<Envelope>) -> Vec<Outbound> {
    let queued_at = Timestamp::now();
    let outbound = |(n, message)| Outbound { key: key(name, n), message, is_uncertain: false, handle: None, queued_at };
    answers.into_iter().enumerate().map(outbound).collect()
}

fn key(name: &str, n: usize) -> String {
    format!("{name}/{n}")
}

/// The channel that an envelope goes to.
pub(crate) fn target(envelope: &Envelope) -> &str {
    envelope.output_channel.as_ref().unwrap_or(&envelope.channel)
}

/// The answer to a message whose turn an earlier process ran.
fn answer_to(message: &Envelope, outcome: &TurnOutcome) -> Vec<Envelope> {
    let (content, kind) = match &outcome.error {
        Some(error) => (error.message.clone(), MessageKind::Error),
        None => (outcome.model_output.clone(), MessageKind::Normal),
    };
    if target(message) == HTTP || content.is_empty() {
        return Vec::new();
    }
    vec![Envelope { kind, ..reply(&outcome.session_id, message, &content) }]
}
