//! Runs the messages of a session, one turn at a time.

use super::TurnOutcome;
use super::chat_approvals::{self, is_chat_of_owner};
use super::gateway::Gateway;
use super::inbox::{Begin, MessageNumber, Outbound, target};
use super::recovery::RecoveredTurn;
use super::shared_inbox::Membership;
use super::task::Task;
use super::turn_feed::{StreamItem, TurnFeed};
use bub_runtime::approval_board::Question;
use bub_runtime::channel::{Channel, reply};
use bub_runtime::error::Failure;
use bub_runtime::host::{Host, RuntimeEvent};
use bub_runtime::imports::toolbox::call_directly;
use bub_runtime::turn::{Cancel, Listener, Steering, TurnEvent, TurnOptions, run_turn};
use bub_tape::{failpoint, run_id, tape_name};
use bub_types::{Envelope, MessageKind, is_ephemeral};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// The channel of HTTP requests. Its answers are responses, and are not delivered otherwise.
pub const HTTP: &str = "http";

/// Buffered events between a turn and those that follow it.
const MAX_EVENTS: usize = 64;

/// Collects the answers of a turn until it has ended, so that all or none of them are stored.
struct CollectingChannel {
    collected: Mutex<Vec<Envelope>>,
    gateway: Arc<Gateway>,
    session: String,
    /// The message of the turn, if the owner wrote it in a chat.
    owner_asks_in: Option<Envelope>,
}

impl Channel for CollectingChannel {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        self.collected.lock().push(envelope.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn asks_as(&self) -> Option<&'static str> {
        Some("serve")
    }

    fn patience(&self) -> Option<Duration> {
        self.owner_asks_in.as_ref().map(|_| chat_approvals::PATIENCE)
    }

    fn announce(&self, question: &Question) {
        if let Some(message) = &self.owner_asks_in {
            self.gateway.announce(&self.session, message, question);
        }
    }
}

impl Gateway {
    /// Runs the messages of a session until its queue is empty.
    pub(super) async fn run_session(self: Arc<Self>, session: String) {
        while let Some(task) = self.session_queues.pop(&session) {
            let slot = self.turn_limiter.acquire().await;
            // Before it is asked whether the turn begins, so that its answer is this one's.
            let membership = self.membership();
            if task.losses != self.losses() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                self.drop_lost(&session, &[task], None);
                continue;
            }
            match self.begin(&session, &task, membership.as_ref()).await {
                Ok(Begin::Now) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.run_task(&session, task, membership).await;
                }
                Ok(Begin::Later) => {
                    drop(slot);
                    self.session_queues.put_back(&session, task);
                    let Some(cluster) = &self.cluster else { continue };
                    // Messages that wait for another worker's turns are adopted when this worker leaves.
                    if self.stopping.run_until_cancelled(cluster.changed()).await.is_none() {
                        return;
                    }
                }
                Ok(Begin::Elsewhere) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.expect_elsewhere(vec![task]);
                }
                Err(error) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    // The next process runs the turn. If this one ran it without a record, it could run twice.
                    tracing::error!(
                        "a message on channel `{}` waits for the next start: {error}",
                        task.said.message.channel
                    );
                    let failure = Failure::Channel("the inbox database cannot be written".to_owned());
                    task.reply_sender.send(&Arc::new(TurnOutcome::failed(session.clone(), &failure)));
                }
            }
        }
    }

    /// Records that the turn of a message begins, if it does.
    async fn begin(&self, session: &str, task: &Task, membership: Option<&Arc<Membership>>) -> anyhow::Result<Begin> {
        let is_begun = match (&task.begun_as, membership) {
            (Some(begun_as), Some(membership)) => Arc::ptr_eq(begun_as, membership),
            _ => false,
        };
        if task.numbers.is_empty() || is_begun {
            return Ok(Begin::Now);
        }
        let tape = tape_name(&self.host().workspace, session);
        match self.inbox.begin(task.numbers.clone(), tape).await {
            // The database may be back soon, and until then no other worker runs the turn either.
            Err(error) if self.cluster.is_some() => {
                tracing::warn!("a message on channel `{}` waits: {error:#}", task.said.message.channel);
                Ok(Begin::Later)
            }
            begun => begun,
        }
    }

    async fn run_task(self: &Arc<Self>, session: &str, task: Task, membership: Option<Arc<Membership>>) {
        if let Some(since) = &task.interrupted_since {
            match self.recover_turn(session, &task.said.message, since).await {
                RecoveredTurn::Ended(outcome) => {
                    let outbounds = outbounds(&run_id(), answer_to(&task.said.message, &outcome));
                    return self.finish(vec![task], outcome, outbounds, None).await;
                }
                RecoveredTurn::Restartable => {}
            }
        }
        let started = Instant::now();
        // The turn keeps the configuration that it starts with.
        let host = self.host();
        host.events.publish(RuntimeEvent::TurnBegins, session);
        failpoint::point("gateway.begun");
        let name = run_id();
        let feed = (!is_ephemeral(session)).then(|| self.feeds.begin(session, &name, task.numbers.clone()));
        if let (Some(feed), Some(cluster)) = (&feed, &self.cluster) {
            let tape = tape_name(&host.workspace, session);
            if cluster.is_followed(&tape) {
                self.publish(tape, Arc::clone(feed));
            }
        }
        let (outcome, outbounds) = self.run_turn(&host, session, &task, (&name, feed.clone()), membership).await;
        failpoint::point("gateway.ran");
        let error = outcome.error.as_ref().map(|error| error.message.clone());
        host.events.publish(RuntimeEvent::TurnEnds { took: started.elapsed(), usage: outcome.usage, error }, session);
        let steered = self.session_queues.end_steering(session);
        self.waiting.fetch_sub(steered.len(), Ordering::Relaxed);
        let tasks: Vec<Task> = std::iter::once(task).chain(steered).collect();
        if tasks.iter().any(|task| task.losses != self.losses()) {
            return self.drop_lost(session, &tasks, feed.as_deref());
        }
        self.finish(tasks, outcome, outbounds, feed.as_deref()).await;
    }

    /// Runs a turn, and returns its outcome with the answers to deliver.
    async fn run_turn(
        self: &Arc<Self>,
        host: &Arc<Host>,
        session: &str,
        task: &Task,
        (name, feed): (&str, Option<Arc<TurnFeed>>),
        membership: Option<Arc<Membership>>,
    ) -> (TurnOutcome, Vec<Outbound>) {
        let message = &task.said.message;
        let collected = Arc::new(CollectingChannel {
            collected: Mutex::default(),
            gateway: Arc::clone(self),
            session: session.to_owned(),
            owner_asks_in: (self.is_polled(target(message)) && is_chat_of_owner(host, message))
                .then(|| message.clone()),
        });
        let steering = Steering::default();
        let (stop, cancel) = watch::channel(false);
        let stopping = tokio::spawn(stop_when(stop.clone(), task.leave.clone(), membership.clone()));
        self.session_queues.enable_stop(session, stop);
        let mut options = TurnOptions::new(cancel)
            .with_session(session.to_owned())
            .with_identity(task.said.identity.clone())
            .with_channel(collected.clone())
            .with_steering(steering.clone())
            .with_history(task.earlier.clone())
            .with_trace(task.trace);
        if let Some(membership) = membership {
            options = options.with_permit(Arc::new(move || membership.is_valid()));
        }
        let mut preview = None;
        let mut listener = task.listener.clone();
        if listener.is_none()
            && let Some(channel) = self
                .channels
                .get(target(&task.said.message))
                .filter(|channel| channel.supports_edits && host.config.stream_output)
        {
            let (sender, events) = mpsc::channel(MAX_EVENTS);
            listener = Some(sender);
            let message = reply(session, &task.said.message, "");
            let shown = Arc::clone(self).show_preview(Arc::clone(host), channel, message, key(name, 0), events);
            preview = Some(tokio::spawn(shown));
        }
        let mut feeding = None;
        if let Some(feed) = feed {
            let (sender, events) = mpsc::channel(MAX_EVENTS);
            // The turn of a message that can be asked for again goes on without its listener.
            feeding = Some(tokio::spawn(feed_events(feed, events, listener, task.said.message.id.is_some())));
            listener = Some(sender);
        }
        if let Some(listener) = listener {
            options = options.with_listener(listener);
        }
        if task.said.message.kind != MessageKind::Command && task.call.is_none() {
            self.session_queues.enable_steering(session, steering);
        }
        let (host, call) = (Arc::clone(host), task.call.clone());
        let message = task.said.message.clone();
        let turn = async move {
            match call {
                Some(call) => call_directly(&host, message, options, &call).await,
                None => run_turn(&host, message, options).await,
            }
        };
        // A panic ends this turn, and not its session.
        let result = tokio::spawn(turn).await;
        stopping.abort();
        if let Some(feeding) = feeding {
            // It ends with the turn, unless a client does not read.
            let _fed = feeding.await;
        }
        let mut answers = std::mem::take(&mut *collected.collected.lock());
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
        let mut outbounds = outbounds(name, answers);
        if let Some(preview) = preview {
            let handle = preview.await.unwrap_or_default();
            // The first answer to that chat replaces the preview.
            let chat = (target(&task.said.message), &task.said.message.chat_id);
            let first = outbounds.iter_mut().find(|next| (target(&next.message), &next.message.chat_id) == chat);
            first.into_iter().for_each(|first| first.handle.clone_from(&handle));
        }
        (outcome, outbounds)
    }

    /// Stores that the turn of these messages has ended, resolves their replies, and delivers the answers. `feed` is the
    /// stream of the turn, if one ran.
    pub(super) async fn finish(
        self: &Arc<Self>,
        tasks: Vec<Task>,
        outcome: TurnOutcome,
        outbounds: Vec<Outbound>,
        feed: Option<&TurnFeed>,
    ) {
        let numbers: Vec<MessageNumber> = tasks.iter().flat_map(|task| task.numbers.iter().copied()).collect();
        let outcome = Arc::new(outcome);
        if !(numbers.is_empty() && outbounds.is_empty()) {
            // Only an HTTP client can ask again, with its `Idempotency-Key`.
            let is_kept = tasks.iter().any(|task| task.said.message.channel == HTTP);
            let kept = is_kept.then(|| serde_json::to_string(&*outcome).unwrap_or_default());
            let finish = || self.inbox.finish(numbers.clone(), kept.clone(), outbounds.clone());
            match self.stored(finish).await {
                Ok(Begin::Elsewhere) => {
                    let session = &outcome.session_id;
                    if tasks.iter().any(|task| task.losses != self.losses()) {
                        return self.drop_lost(session, &tasks, feed);
                    }
                    tracing::warn!(
                        "another worker has taken over a turn of session `{session}`: its end here is dropped"
                    );
                    if let Some(feed) = feed {
                        self.feeds.end(session, feed, None);
                    }
                    return self.expect_elsewhere(tasks);
                }
                Ok(Begin::Now | Begin::Later) => {}
                Err(error) => {
                    tracing::error!("the end of a turn of session `{}` is not stored: {error}", outcome.session_id);
                }
            }
        }
        if let Some(account) = tasks.iter().find_map(|task| task.quota_account.as_ref())
            && !is_ephemeral(&outcome.session_id)
        {
            self.charge_answer(account, outcome.model_output.len()).await;
        }
        failpoint::point("gateway.ended");
        // Before the replies, so that those who read the stream get all of it.
        if let Some(feed) = feed {
            self.feeds.end(&outcome.session_id, feed, Some(&outcome));
        }
        tasks.iter().for_each(|task| task.reply_sender.send(&outcome));
        let mut replies = self.pending_replies.lock();
        numbers.iter().for_each(|number| drop(replies.remove(number)));
        drop(replies);
        self.deliver(outbounds);
    }
}

/// Keeps the events of a turn, and passes them on. Without `goes_on` the turn learns that its listener has left.
async fn feed_events(
    feed: Arc<TurnFeed>,
    mut events: mpsc::Receiver<TurnEvent>,
    mut listener: Option<Listener>,
    goes_on: bool,
) {
    while let Some(event) = events.recv().await {
        StreamItem::of_event(&event).into_iter().for_each(|item| feed.push(item));
        if let Some(to) = &listener
            && to.send(event).await.is_err()
        {
            if !goes_on {
                return;
            }
            listener = None;
        }
    }
}

/// Stops a turn when its client leaves, or when other workers take over from this one.
async fn stop_when(stop: watch::Sender<bool>, leave: Option<Cancel>, membership: Option<Arc<Membership>>) {
    let left = async {
        let Some(mut leave) = leave else { return pending().await };
        if leave.wait_for(|leave| *leave).await.is_err() {
            // The turn has ended for the client.
            pending().await
        }
    };
    let lost = async {
        match &membership {
            Some(membership) => membership.ended.cancelled().await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = left => {}
        () = lost => {}
    }
    stop.send_replace(true);
}

/// The answers of a turn of that name, each with a key of its own.
pub(super) fn outbounds(name: &str, answers: Vec<Envelope>) -> Vec<Outbound> {
    let queued_at = Timestamp::now();
    let outbound = |(n, message)| Outbound { key: key(name, n), message, is_uncertain: false, handle: None, queued_at };
    answers.into_iter().enumerate().map(outbound).collect()
}

fn key(name: &str, n: usize) -> String {
    format!("{name}/{n}")
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
