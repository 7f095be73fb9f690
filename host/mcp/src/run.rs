//! One call of a tool, or one turn: with progress, until it ends or is cancelled.

use super::connection::{Caller, Outcome, Work};
use super::elicitation::Elicitor;
use bub_runtime::imports::toolbox::DirectCall;
use bub_runtime::turn::TurnEvent;
use bub_telemetry::TraceContext;
use bub_types::StreamEvent;
use bub_types::text::{clipped, one_line};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// Buffered events of a turn.
const MAX_EVENTS: usize = 64;

/// The least time between two pieces of text, so that a client is not sent a message a token.
const TEXT_INTERVAL: Duration = Duration::from_millis(250);

/// The silence after which the client is told that the turn still runs, so that its timeout begins anew.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How long a client may leave a notification unread. A turn waits for its listener, and must not wait for a stalled one.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest text of one notification, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// A turn or a call, as a request asks for it.
pub(crate) struct Asked {
    pub(crate) session: String,
    pub(crate) taint: Option<String>,
    pub(crate) content: String,
    pub(crate) call: Option<Arc<DirectCall>>,
}

/// Runs it. A client that cancels gets no answer, but the turn ends in order before this returns.
pub(crate) async fn run<C: Caller>(
    caller: &C,
    context: &RequestContext<RoleServer>,
    asked: Asked,
) -> Result<Outcome, ErrorData> {
    let (stop, cancel) = watch::channel(false);
    // A dropped future cancels, too.
    let stop = StopOnDrop(stop);
    let mut progress = context.meta.get_progress_token().map(|token| Progress::new(token, context.peer.clone()));
    let (listener, mut events) = match progress.is_some() {
        true => {
            let (listener, events) = mpsc::channel(MAX_EVENTS);
            (Some(listener), Some(events))
        }
        false => (None, None),
    };
    let Asked { session, taint, content, call } = asked;
    // The protocol has the header of the same name there, for transports without headers.
    let trace = context.meta.get_traceparent().and_then(TraceContext::parse);
    let work = Work { session, taint, content, call, listener, cancel, trace, elicitor: Elicitor::new(context) };
    let work = caller.run(work);
    tokio::pin!(work);
    let mut is_cancelled = false;
    loop {
        let pause = progress.as_ref().map(Progress::due);
        tokio::select! {
            biased;
            () = context.ct.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                stop.0.send_replace(true);
                // A client that cancels is sent nothing more, and one that has gone would not be waited for.
                progress = None;
            }
            Some(event) = next(&mut events) => {
                if let Some(progress) = &mut progress {
                    progress.event(event).await;
                }
            }
            outcome = &mut work => {
                if let Some(progress) = &mut progress {
                    // What the turn did last may have come together with its end.
                    while let Some(Ok(event)) = events.as_mut().map(mpsc::Receiver::try_recv) {
                        progress.event(event).await;
                    }
                    progress.flush().await;
                }
                return outcome;
            }
            () = sleep_until(pause.unwrap_or_else(Instant::now)), if pause.is_some() => {
                if let Some(progress) = &mut progress {
                    progress.tick().await;
                }
            }
        }
    }
}

async fn next(events: &mut Option<mpsc::Receiver<TurnEvent>>) -> Option<TurnEvent> {
    events.as_mut()?.recv().await
}

/// Cancels the turn when it is dropped.
struct StopOnDrop(watch::Sender<bool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

/// The progress of one request.
struct Progress {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    sent: u32,
    last: Instant,
    text: String,
    is_read: bool,
}

impl Progress {
    fn new(token: ProgressToken, peer: Peer<RoleServer>) -> Self {
        Self { token, peer, sent: 0, last: Instant::now(), text: String::new(), is_read: true }
    }

    /// When there is something to send although nothing happens.
    fn due(&self) -> Instant {
        self.last + if self.text.is_empty() { HEARTBEAT } else { TEXT_INTERVAL }
    }

    async fn event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Event(StreamEvent::Text(text)) => {
                self.text.push_str(&text);
                if self.last.elapsed() >= TEXT_INTERVAL || self.text.len() >= MAX_TEXT {
                    self.flush().await;
                }
            }
            TurnEvent::Event(_) => {}
            TurnEvent::Retry { why, pause } => {
                let why = clipped(&one_line(&why), 300);
                self.say(format!("the model is asked again in {:.1} s: {why}", pause.as_secs_f64())).await;
            }
            TurnEvent::ToolBegins { name, .. } => self.say(format!("calls `{}`", one_line(&name))).await,
            TurnEvent::ToolEnds { took, outcome: Ok(_), .. } => {
                self.say(format!("the tool answered after {} ms", took.as_millis())).await;
            }
            TurnEvent::ToolEnds { outcome: Err(error), .. } => {
                self.say(format!("the tool failed: {}", clipped(&one_line(&error), 300))).await;
            }
        }
    }

    /// Sends the text that has gathered.
    async fn flush(&mut self) {
        while !self.text.is_empty() {
            let rest = self.text.split_off(self.text.floor_char_boundary(MAX_TEXT));
            let text = std::mem::replace(&mut self.text, rest);
            self.send(text).await;
        }
    }

    async fn say(&mut self, message: String) {
        self.flush().await;
        self.send(message).await;
    }

    async fn tick(&mut self) {
        match self.text.is_empty() {
            true => self.send("the turn still runs".to_owned()).await,
            false => self.flush().await,
        }
    }

    async fn send(&mut self, message: String) {
        self.last = Instant::now();
        if !self.is_read {
            return;
        }
        self.sent = self.sent.saturating_add(1);
        let params = ProgressNotificationParam::new(self.token.clone(), f64::from(self.sent)).with_message(message);
        self.is_read = matches!(timeout(READ_TIMEOUT, self.peer.notify_progress(params)).await, Ok(Ok(())));
    }
}
