//! Spans of `tracing` become records of the exporter.

use crate::context::TraceContext;
use crate::ids;
use crate::queue::Queue;
use crate::record::{Fields, Line, LogRecord, SpanRecord, Value, nanoseconds};
use crate::sampler::Sampler;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The target of spans for export alone; the macro `span!` names it too.
const TARGET: &str = "otel";

/// The crate whose spans `turn` and `hook` are for the log as well.
const RUNTIME: &str = "bub_runtime";

/// The name of the span that may begin a trace.
const ROOT: &str = "turn";

/// Whether an exporter runs.
static ON: AtomicBool = AtomicBool::new(false);

/// What the layer works with, once the exporter was started.
static STATE: OnceLock<State> = OnceLock::new();

struct State {
    queue: Arc<Queue>,
    sampler: Sampler,
    logs: bool,
}

/// Lets the layer make records. `false`: it does so already, for another exporter.
pub(crate) fn switch_on(queue: Arc<Queue>, sampler: Sampler, logs: bool) -> bool {
    if STATE.set(State { queue, sampler, logs }).is_err() {
        return false;
    }
    ON.store(true, Ordering::Release);
    // The answers that callsites remember are those of a layer that was off.
    tracing::callsite::rebuild_interest_cache();
    true
}

/// No further records are made.
pub(crate) fn switch_off() {
    ON.store(false, Ordering::Release);
}

pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The layer for the subscriber of the process. It costs nothing until an exporter runs.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a> + 'static>() -> impl Layer<S> {
    Recorder.with_filter(WhenOn)
}

/// The span that this thread works in.
pub(crate) fn current() -> Option<TraceContext> {
    if !is_on() {
        return None;
    }
    tracing::dispatcher::get_default(|dispatch| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        let current = registry.current_span();
        let span = LookupSpan::span(registry, current.id()?)?;
        span.scope().find_map(|span| Some(span.extensions().get::<Recorded>()?.context))
    })
}

/// What the layer keeps of a span.
struct Recorded {
    context: TraceContext,
    /// None: the trace is not sampled.
    record: Option<Box<SpanRecord>>,
}

/// Asks for spans, and for lines of the log, while an exporter runs.
struct WhenOn;

impl WhenOn {
    fn wants(metadata: &Metadata<'_>) -> bool {
        if !is_on() || *metadata.level() > Level::INFO {
            return false;
        }
        let target = metadata.target();
        match metadata.is_span() {
            true => target == TARGET || target.starts_with(RUNTIME),
            // What this crate logs would be exported in turn.
            false => target.starts_with("bub_") && !target.starts_with("bub_telemetry"),
        }
    }
}

impl<S> Filter<S> for WhenOn {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        Self::wants(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Self::wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if is_on() { LevelFilter::INFO } else { LevelFilter::OFF })
    }
}

struct Recorder;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let (Some(state), Some(span)) = (STATE.get(), context.span(id)) else { return };
        let metadata = attributes.metadata();
        let around = span.scope().skip(1).find_map(|span| Some(span.extensions().get::<Recorded>()?.context));
        let mut fields = Fields::default();
        if around.is_none_or(|around| around.is_sampled) {
            attributes.record(&mut fields);
        }
        let (parent, is_remote) = match (around, fields.parent) {
            (Some(around), _) => (Some(around), false),
            (None, Some(told)) => (Some(told), true),
            (None, None) if metadata.name() == ROOT => (None, false),
            // Calls outside of a turn, such as those that ask channels for messages, would be a trace each.
            (None, None) => return,
        };
        let trace_id = parent.map_or_else(ids::trace_id, |parent| parent.trace_id);
        let is_sampled = match around {
            Some(around) => around.is_sampled,
            None => state.sampler.records(trace_id, parent.map(|parent| parent.is_sampled)),
        };
        let own = TraceContext { trace_id, span_id: ids::span_id(), is_sampled };
        let record = is_sampled.then(|| {
            let parent = (parent.map_or(0, |parent| parent.span_id), is_remote);
            let declares_outcome = metadata.fields().field("outcome").is_some();
            Box::new(SpanRecord::begin(own, parent, metadata.name(), declares_outcome, fields.attributes))
        });
        span.extensions_mut().insert(Recorded { context: own, record });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(record) = extensions.get_mut::<Recorded>().and_then(|known| known.record.as_mut()) else { return };
        let mut fields = Fields { attributes: std::mem::take(&mut record.attributes), parent: None };
        values.record(&mut fields);
        record.attributes = fields.attributes;
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(state) = STATE.get().filter(|state| state.logs) else { return };
        let around = context
            .event_scope(event)
            .and_then(|mut scope| scope.find_map(|span| Some(span.extensions().get::<Recorded>()?.context)));
        let mut line = Line::default();
        event.record(&mut line);
        let metadata = event.metadata();
        state.queue.push_log(LogRecord {
            context: around,
            at: nanoseconds(),
            level: *metadata.level(),
            target: metadata.target(),
            text: line.into_text(),
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let (Some(state), Some(span)) = (STATE.get(), context.span(&id)) else { return };
        let record = span.extensions_mut().get_mut::<Recorded>().and_then(|known| known.record.take());
        let Some(mut record) = record else { return };
        record.finish();
        if record.declares_outcome && record.text("outcome").is_none() {
            // Its work was dropped before it was done.
            record.attributes.push(("outcome", Value::Text("cancelled".to_owned())));
        }
        state.queue.push_span(record);
    }
}
