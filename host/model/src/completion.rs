//! The stream of events from a request to its consumer.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::error::{Error, ErrorKind};
use crate::exchange::{Event, ToolCall};
use crate::local_stream::LocalStream;
use crate::redact_stream::TextRedactor;
use bub_redact::Patterns;

/// Maximum queued events. If the consumer is slow, reading from the server pauses.
const CAPACITY: usize = 64;

/// An answer in progress. The request is driven while the next event is awaited; dropping it cancels the request.
pub struct Completion {
    work: LocalStream<BoxFuture<'static, ()>, StreamItem>,
    is_over: bool,
    on_retry: Option<OnRetry>,
}

/// Called with the reason and the delay before each retry.
pub(crate) type OnRetry = Box<dyn Fn(&str, Duration) + Send>;

/// An item that the request yields.
enum StreamItem {
    Event(Result<Event, Error>),
    Retry(String, Duration),
}

impl fmt::Debug for Completion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Completion").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Completion {
    /// An answer whose events `work` sends.
    pub(crate) fn new<W, F>(patterns: Patterns, work: W) -> Completion
    where
        W: FnOnce(EventSender) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(CAPACITY);
        let (text, reasoning) = (TextRedactor::new(patterns.clone()), TextRedactor::new(patterns));
        let sender = EventSender { sender, has_sent: false, text, reasoning };
        let work: BoxFuture<'static, ()> = Box::pin(work(sender));
        Completion { work: LocalStream::new(work, events), is_over: false, on_retry: None }
    }

    /// Sets a callback for retries.
    #[must_use]
    pub fn on_retry(self, on_retry: OnRetry) -> Completion {
        Completion { on_retry: Some(on_retry), ..self }
    }

    /// The next event; `None` after [`Event::Finish`] or an error.
    ///
    /// # Errors
    ///
    /// An error is the last item.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        if self.is_over {
            return None;
        }
        let next = loop {
            match self.work.next().await {
                Some(StreamItem::Event(event)) => break event,
                Some(StreamItem::Retry(why, pause)) => {
                    if let Some(on_retry) = &self.on_retry {
                        on_retry(&why, pause);
                    }
                }
                None => {
                    let why = "the request ended before its answer was complete";
                    break Err(Error::new(ErrorKind::Cancelled, why));
                }
            }
        };
        self.is_over = matches!(next, Ok(Event::Finish(_)) | Err(_));
        Some(next)
    }
}

/// The sending end.
pub(crate) struct EventSender {
    sender: mpsc::Sender<StreamItem>,
    has_sent: bool,
    /// Text is redacted, since servers may repeat keys.
    text: TextRedactor,
    reasoning: TextRedactor,
}

impl EventSender {
    /// Whether an event was sent. After that the request must not be retried.
    pub(crate) fn has_sent(&self) -> bool {
        self.has_sent
    }

    /// Reports a retry, which is not part of the answer.
    pub(crate) async fn retry(&self, why: &str, pause: Duration) {
        let _ = self.sender.send(StreamItem::Retry(why.to_owned(), pause)).await;
    }

    /// Sends an event; waits while the consumer is slow. Events to a dropped consumer are lost: the drop ends the work.
    pub(crate) async fn send(&mut self, event: Event) {
        self.has_sent = true;
        match event {
            Event::Text(text) => {
                let text = self.text.pass(&text);
                self.tell_text(text).await;
            }
            Event::Reasoning(text) => {
                let text = self.reasoning.pass(&text);
                self.tell_reasoning(text).await;
            }
            other => {
                // In order of arrival.
                let (reasoning, text) = (self.reasoning.end(), self.text.end());
                self.tell_reasoning(reasoning).await;
                self.tell_text(text).await;
                self.tell(self.without_keys(other)).await;
            }
        }
    }

    fn without_keys(&self, event: Event) -> Event {
        match event {
            Event::ToolCalls(calls) => Event::ToolCalls(
                calls
                    .into_iter()
                    .map(|call| ToolCall { arguments: self.text.redact(&call.arguments), ..call })
                    .collect(),
            ),
            other => other,
        }
    }

    async fn tell_text(&self, text: String) {
        if !text.is_empty() {
            self.tell(Event::Text(text)).await;
        }
    }

    async fn tell_reasoning(&self, text: String) {
        if !text.is_empty() {
            self.tell(Event::Reasoning(text)).await;
        }
    }

    async fn tell(&self, event: Event) {
        let _ = self.sender.send(StreamItem::Event(Ok(event))).await;
    }

    /// Sends an error as the last item. Held-back text that may begin a key is dropped.
    pub(crate) async fn fail(self, error: Error) {
        let _ = self.sender.send(StreamItem::Event(Err(error))).await;
    }
}
