//! A session's messages, one turn after the other.

use super::evidence::Found;
use super::records::{Number, Outbound};
use super::task::Task;
use super::{Answer, Gateway};
use bub_runtime::channel::{Channel, reply};
use bub_runtime::error::Failure;
use bub_runtime::host::{Host, RuntimeEvent};
use bub_runtime::turn::{EPHEMERAL_PREFIX, Steering, TurnOptions, run_turn};
use bub_tape::{failpoint, run_id};
use bub_types::{Envelope, MessageKind};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, watch};

/// The channel whose answers are what a request gets. Nothing of it is delivered by anybody else.
pub const HTTP: &str = "http";

/// What is heard of a turn and not shown yet.
const EVENTS: usize = 64;

/// Keeps what a turn says until it has ended: then it is written down, all of it or nothing.
#[derive(Default)]
struct Collected(Mutex<Vec<Envelope>>);

impl Channel for Collected {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(envelope.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Gateway {
    /// Works through a session until nothing waits there.
    pub(super) async fn lane(self: Arc<Self>, session: String) {
        while let Some(task) = self.lanes.next(&session) {
            let place = self.places.take().await;
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.one(&session, task).await;
            drop(place);
        }
    }

    async fn one(self: &Arc<Self>, session: &str, task: Task) {
        if let Some(since) = &task.since {
            match self.evidence(session, &task.said.message, since).await {
                Found::Ended(answer) => {
                    let outbounds = outbounds(&run_id(), told(&task.said.message, &answer));
                    return self.end(vec![task], answer, outbounds).await;
                }
                Found::Nothing => {}
            }
        }
        if !task.numbers.is_empty()
            && let Err(error) = self.records.begin(task.numbers.clone()).await
        {
            // It is tried again by the next process. Were its turn to run all the same, it could run twice.
            tracing::error!("a message on channel `{}` waits: {error}", task.said.message.channel);
            let failure = Failure::Channel("the gateway's records take nothing".to_owned());
            task.teller.tell(&Arc::new(Answer::failed(session.to_owned(), &failure)));
            return;
        }
        let began = Instant::now();
        // The turn ends with the configuration that it begins with.
        let host = self.host();
        host.news.tell(RuntimeEvent::TurnBegins, session);
        failpoint::point("gateway.begun");
        let (answer, outbounds) = self.turn(&host, session, &task).await;
        failpoint::point("gateway.ran");
        let error = answer.error.as_ref().map(|error| error.message.clone());
        host.news.tell(RuntimeEvent::TurnEnds { took: began.elapsed(), usage: answer.usage, error }, session);
        let heard = self.lanes.ends(session);
        self.waiting.fetch_sub(heard.len(), Ordering::Relaxed);
        self.end(std::iter::once(task).chain(heard).collect(), answer, outbounds).await;
    }

    /// The turn, and what is to be delivered of it.
    async fn turn(self: &Arc<Self>, host: &Arc<Host>, session: &str, task: &Task) -> (Answer, Vec<Outbound>) {
        let collected = Arc::new(Collected::default());
        let steering = Steering::default();
        let never = watch::channel(false);
        let cancel = task.leave.clone().unwrap_or(never.1);
        let mut audience = TurnOptions::new(cancel)
            .in_session(session.to_owned())
            .spoken_by(task.said.speaker.clone())
            .answered_on(collected.clone())
            .steered_by(steering.clone())
            .behind(task.earlier.clone());
        let name = run_id();
        let mut draft = None;
        if let Some(listener) = &task.listener {
            audience = audience.heard_by(listener.clone());
        } else if let Some(channel) = self
            .channels
            .get(target(&task.said.message))
            .filter(|channel| channel.supports_edits && host.config.stream_output)
        {
            let (listener, heard) = mpsc::channel(EVENTS);
            audience = audience.heard_by(listener);
            let message = reply(session, &task.said.message, "");
            draft =
                Some(tokio::spawn(Arc::clone(self).draft(Arc::clone(host), channel, message, key(&name, 0), heard)));
        }
        if task.said.message.kind != MessageKind::Command {
            self.lanes.steers(session, steering);
        }
        let host = Arc::clone(host);
        let message = task.said.message.clone();
        // A defect of ours ends this turn, and not its session.
        let ran = tokio::spawn(async move { run_turn(&host, message, audience).await }).await;
        let mut said = std::mem::take(&mut *collected.0.lock().unwrap_or_else(PoisonError::into_inner));
        let answer = match ran {
            // As they go out, with their media, and less what a plugin has delivered.
            Ok(Ok(result)) => Answer { outbounds: said.clone(), ..Answer::from(result) },
            Ok(Err(failure)) => Answer { outbounds: said.clone(), ..Answer::failed(session.to_owned(), &failure) },
            Err(error) => {
                tracing::error!("a turn of session `{session}` broke: {error}");
                Answer::failed(session.to_owned(), &Failure::Channel("the turn broke".to_owned()))
            }
        };
        said.retain(|envelope| target(envelope) != HTTP);
        let mut outbounds = outbounds(&name, said);
        if let Some(draft) = draft {
            let handle = draft.await.unwrap_or_default();
            // What was shown becomes the first that is said to that chat.
            let chat = (target(&task.said.message), &task.said.message.chat_id);
            let first = outbounds.iter_mut().find(|next| (target(&next.message), &next.message.chat_id) == chat);
            first.into_iter().for_each(|first| first.handle.clone_from(&handle));
        }
        (answer, outbounds)
    }

    /// Writes down that these messages have had their turn, lets its answers be delivered, and tells whoever waits.
    pub(super) async fn end(self: &Arc<Self>, tasks: Vec<Task>, answer: Answer, outbounds: Vec<Outbound>) {
        let numbers: Vec<Number> = tasks.iter().flat_map(|task| task.numbers.iter().copied()).collect();
        let answer = Arc::new(answer);
        if !(numbers.is_empty() && outbounds.is_empty()) {
            // Whoever asks again over HTTP gets the same answer; nobody else asks.
            let asked_again = tasks.iter().any(|task| task.said.message.channel == HTTP);
            let kept = asked_again.then(|| serde_json::to_string(&*answer).unwrap_or_default());
            if let Err(error) = self.records.end(numbers.clone(), kept, outbounds.clone()).await {
                tracing::error!("the end of a turn of session `{}` is not written down: {error}", answer.session_id);
            }
        }
        if let Some(counted) = tasks.iter().find_map(|task| task.counted.as_ref())
            && !answer.session_id.starts_with(EPHEMERAL_PREFIX)
        {
            self.count_answer(counted, answer.model_output.len()).await;
        }
        failpoint::point("gateway.ended");
        tasks.iter().for_each(|task| task.teller.tell(&answer));
        let mut open = self.open();
        numbers.iter().for_each(|number| drop(open.remove(number)));
        drop(open);
        self.deliver(outbounds);
    }
}

/// What is to be delivered of a turn of that name: each under a key of its own.
fn outbounds(name: &str, said: Vec<Envelope>) -> Vec<Outbound> {
    let outbound = |(n, message)| Outbound { key: key(name, n), message, is_doubtful: false, handle: None };
    said.into_iter().enumerate().map(outbound).collect()
}

fn key(name: &str, n: usize) -> String {
    format!("{name}/{n}")
}

/// The channel that an envelope goes to.
pub(super) fn target(envelope: &Envelope) -> &str {
    envelope.output_channel.as_ref().unwrap_or(&envelope.channel)
}

/// What a person is told of a turn that another process ran.
fn told(message: &Envelope, answer: &Answer) -> Vec<Envelope> {
    let (content, kind) = match &answer.error {
        Some(error) => (error.message.clone(), MessageKind::Error),
        None => (answer.model_output.clone(), MessageKind::Normal),
    };
    if target(message) == HTTP || content.is_empty() {
        return Vec::new();
    }
    vec![Envelope { kind, ..reply(&answer.session_id, message, &content) }]
}
