//! Requests of OTLP: traces, logs and metrics, as version 1 of its Protocol Buffers defines them.

use crate::callsite::{ROOT, Role};
use crate::metric::{Number, Sample};
use crate::protobuf::{Message, bytes_length, varint_length};
use crate::queue::Waiting;
use crate::record::{LogRecord, SpanRecord, Value, nanoseconds, values};
use crate::settings::Settings;
use crate::text::Cleaner;
use tracing::Level;

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`.
const INTERNAL: u64 = 1;
const CLIENT: u64 = 3;

/// `SPAN_KIND_SERVER`: what another program asked for.
const SERVER: u64 = 2;

/// `STATUS_CODE_ERROR`.
const ERROR: u64 = 2;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// The flag of a span's flags that says that the flag about its parent has a meaning, and that flag.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// What all requests begin with.
pub(crate) struct Encoder {
    /// A `Resource`.
    resource: Vec<u8>,
    /// When the process began to count.
    start: u64,
}

impl Encoder {
    pub(crate) fn new(settings: &Settings, instance: &str) -> Self {
        let own = [
            ("service.name", settings.service_name.as_str()),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("service.instance.id", instance),
            ("telemetry.sdk.name", "bub-telemetry"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ];
        let mut resource = Message::default();
        let is_set = |name: &str| settings.resource.iter().any(|(key, _)| key == name);
        // What the user has set takes the place of what the program knows, other than its name.
        for (name, value) in own.into_iter().filter(|(name, _)| *name == "service.name" || !is_set(name)) {
            text(&mut resource, 1, name, value);
        }
        for (name, value) in settings.resource.iter().filter(|(name, _)| name != "service.name") {
            text(&mut resource, 1, name, value);
        }
        Self { resource: resource.into_bytes(), start: nanoseconds() }
    }

    /// `ExportTraceServiceRequest`.
    pub(crate) fn traces(&self, waiting: &Waiting, cleaner: &mut Cleaner) -> Vec<u8> {
        let mut name = String::new();
        self.request(|scope| {
            for (record, attributes) in waiting.spans() {
                scope.message(2, |message| span(message, (record, attributes), cleaner, &mut name));
            }
        })
    }

    /// `ExportLogsServiceRequest`.
    pub(crate) fn logs(&self, lines: &[LogRecord], cleaner: &mut Cleaner) -> Vec<u8> {
        self.request(|scope| lines.iter().for_each(|line| scope.message(2, |message| log(message, line, cleaner))))
    }

    /// `ExportMetricsServiceRequest`.
    pub(crate) fn metrics(&self, samples: &[Sample], cleaner: &mut Cleaner) -> Vec<u8> {
        let now = nanoseconds();
        self.request(|scope| {
            for group in samples.chunk_by(|one, other| one.metric.name == other.metric.name) {
                let Some(first) = group.first() else { continue };
                scope.message(2, |message| {
                    message.bytes(1, first.metric.name.as_bytes());
                    message.bytes(2, first.metric.about.as_bytes());
                    let is_counter = first.metric.kind == "counter";
                    // A `Sum` or a `Gauge`.
                    message.message(if is_counter { 7 } else { 5 }, |data| {
                        for sample in group {
                            data.message(1, |point| self.point(point, sample, now, cleaner));
                        }
                        if is_counter {
                            data.number(2, CUMULATIVE);
                            data.number(3, 1);
                        }
                    });
                });
            }
        })
    }

    /// A `NumberDataPoint`.
    fn point(&self, point: &mut Message, sample: &Sample, now: u64, cleaner: &mut Cleaner) {
        point.fixed64(2, self.start);
        point.fixed64(3, now);
        match sample.value {
            Number::Float(value) => point.chosen_fixed64(4, value.to_bits()),
            Number::Whole(value) => point.chosen_fixed64(6, value.min(i64::MAX as u64)),
        }
        for (name, value) in &sample.labels {
            text(point, 7, name, cleaner.clean(value));
        }
    }

    /// A request with one resource and one scope. All three kinds have the same fields here.
    fn request(&self, write: impl FnOnce(&mut Message)) -> Vec<u8> {
        let mut request = Message::default();
        request.message(1, |of_resource| {
            of_resource.bytes(1, &self.resource);
            of_resource.message(2, |of_scope| {
                of_scope.message(1, |scope| {
                    scope.bytes(1, b"bub-wasm");
                    scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
                });
                write(of_scope);
            });
        });
        request.into_bytes()
    }
}

/// A `Span`. `name` is for its name, so that there is room for the next one.
fn span(message: &mut Message, (record, attributes): (&SpanRecord, &[u8]), cleaner: &mut Cleaner, name: &mut String) {
    let (context, callsite) = (&record.context, record.callsite);
    message.bytes(1, &context.trace_id.to_be_bytes());
    message.bytes(2, &context.span_id.to_be_bytes());
    if record.parent != 0 {
        message.bytes(4, &record.parent.to_be_bytes());
    }
    let code_name = callsite.metadata.name();
    let mut kind = if record.is_remote && code_name == ROOT { SERVER } else { INTERNAL };
    let (mut own_name, mut hook, mut plugin, mut status, mut is_error) = (None, None, None, None, false);
    for (index, value) in values(attributes) {
        let Some(field) = callsite.fields.get(index) else { continue };
        let text = match &value {
            Value::Text(text) => Some(*text),
            _ => None,
        };
        match field.role {
            Role::Name => own_name = text,
            Role::Status => status = text,
            Role::Kind if text == Some("client") => kind = CLIENT,
            Role::Kind | Role::Parent | Role::Hidden => {}
            role => {
                match role {
                    Role::Hook => hook = text,
                    Role::Plugin => plugin = text,
                    Role::Error => is_error = true,
                    _ => {}
                }
                attribute(message, &field.key, role, &value, cleaner);
            }
        }
    }
    name.clear();
    match (own_name, hook, plugin) {
        (Some(own), _, _) => name.push_str(own),
        (None, Some(hook), Some(plugin)) => name.extend([hook, " ", plugin]),
        _ => name.push_str(code_name),
    }
    message.bytes(5, cleaner.clean(name).as_bytes());
    message.number(6, kind);
    message.fixed64(7, record.start);
    message.fixed64(8, record.end);
    if is_error {
        message.message(15, |message| {
            if let Some(why) = status {
                message.bytes(2, cleaner.clean(why).as_bytes());
            }
            message.number(3, ERROR);
        });
    }
    let sampled = 1;
    message.fixed32(16, sampled | HAS_IS_REMOTE | if record.is_remote { IS_REMOTE } else { 0 });
}

/// A `LogRecord`.
fn log(message: &mut Message, line: &LogRecord, cleaner: &mut Cleaner) {
    message.fixed64(1, line.at);
    let (severity, name) = match line.level {
        Level::ERROR => (17, "ERROR"),
        Level::WARN => (13, "WARN"),
        Level::INFO => (9, "INFO"),
        Level::DEBUG => (5, "DEBUG"),
        Level::TRACE => (1, "TRACE"),
    };
    message.number(2, severity);
    message.bytes(3, name.as_bytes());
    let said = cleaner.clean(&line.text);
    message.message(5, |body| body.chosen_bytes(1, said.as_bytes()));
    text(message, 6, "bub.module", line.target);
    if let Some(context) = &line.context {
        message.fixed32(8, u32::from(context.is_sampled));
        message.bytes(9, &context.trace_id.to_be_bytes());
        message.bytes(10, &context.span_id.to_be_bytes());
    }
    message.fixed64(11, line.at);
}

/// An attribute of a span.
fn attribute(message: &mut Message, key: &[u8], role: Role, value: &Value<'_>, cleaner: &mut Cleaner) {
    const FIELD: u64 = 9;
    match value {
        Value::Text(text) => {
            let clean = match role {
                Role::Content => &cleaner.content(text),
                _ => cleaner.clean(text),
            };
            let bytes = clean.as_bytes();
            let one = bytes_length(bytes.len());
            if role != Role::List {
                return message.pair(FIELD, key, one, |any| any.chosen_bytes(1, bytes));
            }
            let array = bytes_length(one);
            message.pair(FIELD, key, bytes_length(array), |any| {
                any.message(5, |list| list.message(1, |any| any.chosen_bytes(1, bytes)));
            });
        }
        Value::Bool(value) => message.pair(FIELD, key, 2, |any| any.chosen_number(2, i64::from(*value))),
        Value::Number(value) => {
            message.pair(FIELD, key, 1 + varint_length(*value as u64), |any| any.chosen_number(3, *value));
        }
        Value::Float(value) => message.pair(FIELD, key, 9, |any| any.chosen_fixed64(4, value.to_bits())),
    }
}

/// A `KeyValue` with a text.
fn text(message: &mut Message, field: u64, name: &str, value: &str) {
    message.message(field, |pair| {
        pair.bytes(1, name.as_bytes());
        pair.message(2, |any| any.chosen_bytes(1, value.as_bytes()));
    });
}
