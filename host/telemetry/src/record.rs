//! Records of spans and of lines of the log, as the program makes them. Nothing is encoded or redacted here: that is done
//! by the exporter's thread.

use crate::context::TraceContext;
use std::fmt::{Debug, Write};
use std::time::{Duration, Instant, SystemTime};
use tracing::Level;
use tracing::field::{Field, Visit};

/// The longest attribute that is kept, in bytes. One with the text of a conversation has a limit of its own.
pub(crate) const MAX_ATTRIBUTE: usize = 4 << 10;

/// The longest attribute of a conversation, in bytes.
const MAX_CONTENT: usize = 96 << 10;

/// Attributes of a conversation.
pub(crate) const CONTENT: [&str; 5] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];

/// A value of an attribute.
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Float(f64),
    Bool(bool),
}

/// Names and values.
pub(crate) type Attributes = Vec<(&'static str, Value)>;

/// A span that is recorded.
pub(crate) struct SpanRecord {
    pub(crate) context: TraceContext,
    /// The span around it; 0: none.
    pub(crate) parent: u64,
    /// Whether the parent is a span of another process.
    pub(crate) is_remote: bool,
    /// The name in the code.
    pub(crate) name: &'static str,
    pub(crate) declares_outcome: bool,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    pub(crate) end: u64,
    begun: Instant,
    pub(crate) attributes: Attributes,
}

/// A line of the log.
pub(crate) struct LogRecord {
    pub(crate) context: Option<TraceContext>,
    pub(crate) at: u64,
    pub(crate) level: Level,
    pub(crate) target: &'static str,
    pub(crate) text: String,
}

impl SpanRecord {
    pub(crate) fn begin(
        context: TraceContext,
        (parent, is_remote): (u64, bool),
        name: &'static str,
        declares_outcome: bool,
        attributes: Attributes,
    ) -> Self {
        let (start, begun) = (nanoseconds(), Instant::now());
        Self { context, parent, is_remote, name, declares_outcome, start, end: start, begun, attributes }
    }

    /// The span has ended. Its duration is that of a clock that is never set.
    pub(crate) fn finish(&mut self) {
        self.end = self.start.saturating_add(whole(self.begun.elapsed()));
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.attributes.iter().rev().find_map(|(key, value)| match value {
            Value::Text(text) if *key == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// About what it takes in memory.
    pub(crate) fn size(&self) -> usize {
        let texts = self.attributes.iter().map(|(_, value)| match value {
            Value::Text(text) => text.len(),
            _ => 0,
        });
        size_of::<Self>() + self.attributes.len() * size_of::<(&str, Value)>() + texts.sum::<usize>()
    }
}

/// Now, in nanoseconds since 1970.
pub(crate) fn nanoseconds() -> u64 {
    whole(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default())
}

fn whole(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Collects the fields of a span.
#[derive(Default)]
pub(crate) struct Fields {
    pub(crate) attributes: Attributes,
    pub(crate) parent: Option<TraceContext>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = field.name();
        if name == "otel.parent" {
            self.parent = TraceContext::parse(value);
            return;
        }
        let max = if CONTENT.contains(&name) { MAX_CONTENT } else { MAX_ATTRIBUTE };
        self.attributes.push((name, Value::Text(value[..value.floor_char_boundary(max)].to_owned())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attributes.push((field.name(), Value::Number(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.attributes.push((field.name(), Value::Float(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.attributes.push((field.name(), Value::Bool(value)));
    }
}

/// The text of a line of the log, with its fields behind it.
#[derive(Default)]
pub(crate) struct Line {
    text: String,
    fields: String,
}

impl Line {
    pub(crate) fn into_text(self) -> String {
        let mut text = self.text + &self.fields;
        text.truncate(text.floor_char_boundary(MAX_ATTRIBUTE));
        text
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.text),
            // Writing to a string cannot fail.
            name => drop(write!(self.fields, " {name}={value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
