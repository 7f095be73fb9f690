//! Spans of `tracing` become records of the exporter.
//!
//! The subscriber of the process is the log's with this one around it. A layer among those of the log would cost several
//! times as much: the registry looks a span up for each layer with a filter, whenever it is entered, left, or closed.

use crate::callsite::{self, Callsite, LogInterest, ROOT};
use crate::context::TraceContext;
use crate::queue::Queue;
use crate::record::{Fields, Line, LogRecord, MAX_ATTRIBUTE, SpanRecord, nanoseconds, whole};
use crate::sampler::Sampler;
use crate::slab::{self, OpenSpan, Recorded, Slot};
use crate::stack::{self, IGNORED};
use crate::{counts, ids};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tracing::level_filters::LevelFilter;
use tracing::span::{self, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

/// The target of spans for export alone; the macro `span!` names it too.
const TARGET: &str = "otel";

/// The crate whose spans `turn` and `hook` are for the log as well.
const RUNTIME: &str = "bub_runtime";

/// Whether an exporter runs.
static ON: AtomicBool = AtomicBool::new(false);

/// What records are made with, once the exporter was started.
static STATE: OnceLock<State> = OnceLock::new();

struct State {
    queue: Arc<Queue>,
    sampler: Sampler,
    logs: bool,
}

/// Lets the subscriber make records. `false`: it does so already, for another exporter.
pub(crate) fn switch_on(queue: Arc<Queue>, sampler: Sampler, logs: bool) -> bool {
    if STATE.set(State { queue, sampler, logs }).is_err() {
        return false;
    }
    ON.store(true, Ordering::Release);
    // The answers that callsites remember are those of a subscriber that was off.
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

/// The span that this thread works in.
pub(crate) fn current() -> Option<TraceContext> {
    if is_on() { stack::context() } else { None }
}

/// The subscriber of the process: `log`, and the export of spans. It costs nothing until an exporter runs.
pub fn subscriber(log: impl Subscriber + Send + Sync) -> impl Subscriber + Send + Sync {
    Recorder { log: Box::new(log) }
}

/// Whether spans or lines of that kind are exported. It holds from the start of an exporter on, also when that has ended:
/// the callsites remember it.
fn wants(metadata: &Metadata<'_>) -> bool {
    if STATE.get().is_none() || *metadata.level() > Level::INFO {
        return false;
    }
    let target = metadata.target();
    match metadata.is_span() {
        true => target == TARGET || target.starts_with(RUNTIME),
        // What this crate logs would be exported in turn.
        false => target.starts_with("bub_") && !target.starts_with("bub_telemetry"),
    }
}

struct Recorder {
    log: Box<dyn Subscriber + Send + Sync>,
}

impl Recorder {
    /// Makes the span for the log, with the log's own id of its parent. The log's registry takes no other.
    fn log_span(&self, attributes: &span::Attributes<'_>) -> Id {
        let parent = attributes.parent().map(Id::into_u64);
        let (metadata, values) = (attributes.metadata(), attributes.values());
        match parent.map(|parent| (parent, slab::get(parent))) {
            Some((_, Some(slot))) => match slot.log() {
                Some(parent) => {
                    self.log.new_span(&span::Attributes::child_of(Id::from_non_zero_u64(parent), metadata, values))
                }
                None => self.log.new_span(&span::Attributes::new_root(metadata, values)),
            },
            Some((IGNORED, None)) => self.log.new_span(&span::Attributes::new_root(metadata, values)),
            _ => self.log.new_span(attributes),
        }
    }

    /// Does something with the log's id of a span, if the log has the span.
    fn for_log(&self, id: &Id, slot: Option<&Slot>, act: impl FnOnce(&dyn Subscriber, &Id)) {
        match slot {
            Some(slot) => {
                if let Some(log) = slot.log() {
                    act(&*self.log, &Id::from_non_zero_u64(log));
                }
            }
            None if id.into_u64() == IGNORED => {}
            None => act(&*self.log, id),
        }
    }
}

/// Fills the slot of a new span. `false`: it is not recorded, and neither are those inside of it.
fn open(span: &mut OpenSpan, state: &State, callsite: &'static Callsite, attributes: &span::Attributes<'_>) -> bool {
    let around = match attributes.parent() {
        Some(parent) => slab::get(parent.into_u64()).and_then(|slot| slot.span.lock().context),
        None if attributes.is_contextual() => stack::context(),
        None => None,
    };
    if around.is_none() && !callsite.can_begin {
        return false;
    }
    let mut fields = Fields { callsite, attributes: &mut span.attributes, parent: None };
    if around.is_none_or(|around| around.is_sampled) {
        attributes.record(&mut fields);
    }
    let (parent, is_remote) = match (around, fields.parent) {
        (Some(around), _) => (Some(around), false),
        (None, Some(told)) => (Some(told), true),
        (None, None) if callsite.metadata.name() == ROOT => (None, false),
        // Calls outside of a turn, such as those that ask channels for messages, would be a trace each.
        (None, None) => return false,
    };
    let trace_id = parent.map_or_else(ids::trace_id, |parent| parent.trace_id);
    let is_sampled = match around {
        Some(around) => around.is_sampled,
        None => state.sampler.records(trace_id, parent.map(|parent| parent.is_sampled)),
    };
    span.callsite = Some(callsite);
    span.context = Some(TraceContext { trace_id, span_id: ids::span_id(), is_sampled });
    let parent = parent.map_or(0, |parent| parent.span_id);
    let begin = || Recorded { parent, is_remote, start: nanoseconds(), begun: Instant::now() };
    span.recorded = is_sampled.then(begin);
    true
}

/// The span has ended: its record waits for the exporter.
fn close(span: &mut OpenSpan) {
    let Some(state) = STATE.get() else { return };
    let (Some(recorded), Some(context), Some(callsite)) = (span.recorded.take(), span.context, span.callsite) else {
        return;
    };
    // The duration is that of a clock that is never set.
    let end = recorded.start.saturating_add(whole(recorded.begun.elapsed()));
    if let Some(outcome) = callsite.outcome
        && !span.attributes.has(outcome)
    {
        // Its work was dropped before it was done.
        span.attributes.text(outcome, MAX_ATTRIBUTE, "cancelled");
    }
    let Recorded { parent, is_remote, start, .. } = recorded;
    state.queue.push_span(SpanRecord { callsite, context, parent, is_remote, start, end }, span.attributes.bytes());
}

impl Subscriber for Recorder {
    fn on_register_dispatch(&self, dispatch: &Dispatch) {
        self.log.on_register_dispatch(dispatch);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let log = self.log.register_callsite(metadata);
        let exports = wants(metadata) && (!metadata.is_span() || callsite::register(metadata, &log));
        if exports { Interest::always() } else { log }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        wants(metadata) || self.log.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let log = self.log.max_level_hint()?;
        Some(if STATE.get().is_some() { log.max(LevelFilter::INFO) } else { log })
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> Id {
        let metadata = attributes.metadata();
        let Some((state, callsite)) = STATE.get().and_then(|state| Some((state, callsite::find(metadata)?))) else {
            return self.log_span(attributes);
        };
        let is_logged = match callsite.log() {
            LogInterest::Never => false,
            LogInterest::Always => true,
            LogInterest::Sometimes => self.log.enabled(metadata),
        };
        let log = is_logged.then(|| self.log_span(attributes).into_non_zero_u64());
        let logged = || log.map_or_else(|| Id::from_u64(IGNORED), Id::from_non_zero_u64);
        if !is_on() {
            return logged();
        }
        match slab::insert(log, |span| open(span, state, callsite, attributes)) {
            Ok(own) => Id::from_non_zero_u64(own),
            Err(refused) => {
                if refused.is_full {
                    counts::dropped(1);
                }
                logged()
            }
        }
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let slot = slab::get(id.into_u64());
        self.for_log(id, slot, |log, id| log.record(id, values));
        let Some(slot) = slot else { return };
        let span = &mut *slot.span.lock();
        if let (Some(callsite), true) = (span.callsite, span.recorded.is_some()) {
            values.record(&mut Fields { callsite, attributes: &mut span.attributes, parent: None });
        }
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        self.for_log(id, slab::get(id.into_u64()), |log, id| {
            let of = slab::get(follows.into_u64());
            self.for_log(follows, of, |_, follows| log.record_follows_from(id, follows));
        });
    }

    fn event_enabled(&self, _: &Event<'_>) -> bool {
        // The log is asked when it gets the event.
        true
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let exports = wants(metadata);
        // The log was not asked before whether it wants a line that is exported.
        if (!exports || self.log.enabled(metadata)) && self.log.event_enabled(event) {
            self.log.event(event);
        }
        let Some(state) = STATE.get().filter(|state| exports && state.logs && is_on()) else { return };
        let context = match event.parent() {
            Some(parent) => slab::get(parent.into_u64()).and_then(|slot| slot.span.lock().context),
            None => stack::context(),
        };
        let mut line = Line::default();
        event.record(&mut line);
        state.queue.push_log(LogRecord {
            context,
            at: nanoseconds(),
            level: *metadata.level(),
            target: metadata.target(),
            text: line.into_text(),
        });
    }

    fn enter(&self, id: &Id) {
        if STATE.get().is_some() {
            stack::enter(id.into_u64());
        }
        self.for_log(id, slab::get(id.into_u64()), |log, id| log.enter(id));
    }

    fn exit(&self, id: &Id) {
        if STATE.get().is_some() {
            stack::exit(id.into_u64());
        }
        self.for_log(id, slab::get(id.into_u64()), |log, id| log.exit(id));
    }

    fn clone_span(&self, id: &Id) -> Id {
        match slab::get(id.into_u64()) {
            Some(slot) => slot.acquire(),
            None if id.into_u64() == IGNORED => {}
            None => return self.log.clone_span(id),
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let Some(slot) = slab::get(id.into_u64()) else {
            return id.into_u64() != IGNORED && self.log.try_close(id);
        };
        if !slot.release() {
            return false;
        }
        self.for_log(&id, Some(slot), |log, id| {
            log.try_close(id.clone());
        });
        close(&mut slot.span.lock());
        slot.free();
        true
    }

    fn current_span(&self) -> Current {
        match stack::innermost().map(|id| (id, slab::get(id))) {
            Some((id, Some(slot))) => match slot.span.lock().callsite {
                Some(callsite) => Current::new(Id::from_u64(id), callsite.metadata),
                None => Current::none(),
            },
            Some((IGNORED, None)) => Current::none(),
            _ => self.log.current_span(),
        }
    }
}
