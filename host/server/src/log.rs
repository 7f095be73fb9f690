//! `GET /v1/log`: the lines of the log as they are written, and the newest before.

use super::ApiError;
use super::extract::Caller;
use super::sse::{self, Source, StreamPermit};
use axum::response::Response;
use axum::response::sse::Event as SseEvent;
use bub_config::Scope;
use bub_types::text::{clipped, one_line};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::sync::{Arc, LazyLock};
use tokio::sync::watch;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Lines that are kept.
const MAX_LINES: usize = 500;

/// The longest line, in bytes.
const MAX_LINE: usize = 4096;

/// The lines of this process: a log belongs to the process, not to a server.
static LINES: LazyLock<Lines> = LazyLock::new(Lines::default);

/// A line of the log.
#[derive(Debug, Serialize)]
struct Line {
    at: Timestamp,
    level: &'static str,
    /// The module that wrote it.
    target: String,
    message: String,
    /// The trace and the span in which it was written, while they are exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
}

#[derive(Default)]
struct Lines {
    kept: Mutex<VecDeque<Arc<Line>>>,
    /// The number of lines so far.
    count: watch::Sender<u64>,
}

impl Lines {
    fn push(&self, line: Line) {
        let mut kept = self.kept.lock();
        kept.push_back(Arc::new(line));
        if kept.len() > MAX_LINES {
            kept.pop_front();
        }
        // Under the lock, so that the number is that of the lines.
        self.count.send_modify(|count| *count += 1);
    }

    /// Lines behind the first `after` ones that are kept, and the number of lines so far.
    fn after(&self, after: u64) -> (Vec<Arc<Line>>, u64) {
        let kept = self.kept.lock();
        let count = *self.count.borrow();
        let new = usize::try_from(count.saturating_sub(after)).unwrap_or(MAX_LINES).min(kept.len());
        (kept.iter().skip(kept.len() - new).cloned().collect(), count)
    }
}

/// Keeps the lines of a subscriber for `GET /v1/log`.
pub struct LogLayer;

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let message = one_line(&clipped(&(message.text + &message.fields), MAX_LINE));
        let span = bub_telemetry::current();
        LINES.push(Line {
            at: Timestamp::now(),
            level,
            target: event.metadata().target().to_owned(),
            message,
            trace_id: span.map(|span| format!("{:032x}", span.trace_id)),
            span_id: span.map(|span| format!("{:016x}", span.span_id)),
        });
    }
}

/// The text of an event, and its fields.
#[derive(Default)]
struct Message {
    text: String,
    fields: String,
}

impl Visit for Message {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.text),
            name => {
                let _ = write!(self.fields, " {name}={value}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// `GET /v1/log`. Lines can name any session and plugin, so they are for the owner alone.
pub(super) async fn stream(Caller { api, bearer }: Caller) -> Result<Response, ApiError> {
    bearer.needs(Scope::Admin)?;
    if !bearer.session_prefix.is_empty() {
        return Err(ApiError::forbidden(format!("token `{}` does not reach all sessions", bearer.name)));
    }
    let permit = StreamPermit::acquire(&api)?;
    let source = LogSource { read: 0, count: LINES.count.subscribe() };
    Ok(sse::respond(api.auth.lease(bearer), permit, source))
}

struct LogSource {
    read: u64,
    count: watch::Receiver<u64>,
}

impl Source for LogSource {
    const NAME: &str = "`/v1/log`";

    async fn next(&mut self) -> anyhow::Result<Vec<SseEvent>> {
        let read = self.read;
        // The sender is never dropped. What is returned locks the channel, which a new line changes while it holds `kept`.
        drop(self.count.wait_for(|count| *count > read).await);
        let (lines, count) = LINES.after(self.read);
        self.read = count;
        let event = |line: &Arc<Line>| {
            let data = serde_json::to_string(&**line).unwrap_or_default();
            SseEvent::default().event("line").data(data)
        };
        Ok(lines.iter().map(event).collect())
    }
}
