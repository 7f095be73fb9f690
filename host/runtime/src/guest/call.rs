//! The only way to call a guest: an instance with its limits and deadline, and a typed fault when it breaks them.

use super::bindings::Exports;
use super::classify::classify;
use super::context::CallContext;
use super::instance::GuestInstance;
use super::running::{RUNNING, Running};
use super::state::State;
use crate::host::{Host, RuntimeEvent};
use crate::plugin::quarantine::{CallRecorder, CircuitKey, Consequence, CrashContext, Permit};
use crate::plugin::recording::{LateValue, TurnView};
use crate::plugin::{Fault, FaultKind, OpenLog, Plugin};
use crate::turn::Turn;
use bub_types::hook::{Call, Deadline};
use serde_json::Value;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tracing::Span;
use wasmtime::component::Instance;
use wasmtime::{Result, Store};

/// The deadline of `after-turn`.
const AFTER_TURN_DEADLINE: Duration = Duration::from_secs(60);

/// The deadline of a channel's delivery or webhook: that of one HTTP request.
const DELIVERY: Duration = Duration::from_secs(60);

/// A plugin's instance during one call.
///
/// `'c` is how long what the caller lends lives: its name here is what lets a boxed future borrow both from the visit
/// and from the caller.
pub struct GuestCall<'a, 'c> {
    /// The plugin's exports, by their indices in the component.
    pub exports: &'a Exports,
    /// The store of the instance.
    pub store: &'a mut Store<State>,
    /// The instance.
    pub instance: Instance,
    lent: PhantomData<&'a &'c ()>,
}

/// The future of a guest call. Boxed, because the compiler cannot yet show that an async closure that borrows its
/// arguments is `Send`.
pub type CallFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Calls an export of `plugin` in an instance of its own.
///
/// # Errors
///
/// A [`Fault`], when the guest trapped or broke a limit or its contract. The guest's own error is in `T`.
#[tracing::instrument(name = "hook", skip_all, fields(hook = context.call.name(), plugin = plugin.name, digest, fuel,
    memory, outcome, error.type, otel.status))]
pub async fn call<'c, T: Send>(
    host: &Arc<Host>,
    plugin: &Arc<Plugin>,
    context: CallContext,
    run: impl for<'a> FnOnce(GuestCall<'a, 'c>) -> CallFuture<'a, T> + Send,
) -> std::result::Result<T, Fault> {
    // There is a copy of this function for each hook, so what does not depend on the hook is elsewhere.
    let mut open = OpenCall::begin(host, plugin, context).await.inspect_err(record_fault)?;
    let live = &mut open.live;
    let context = &open.context;
    let outcome = tokio::time::timeout(
        open.limit,
        RUNNING.scope(
            Running::new(plugin, context.call),
            timed(&mut open.busy, async {
                let instance = live.instance(host, plugin, context).await?;
                run(GuestCall { exports: &live.ready.exports, store: &mut live.store, instance, lent: PhantomData })
                    .await
            }),
        ),
    )
    .await;
    match outcome {
        Ok(Ok(value)) => {
            open.succeed().await;
            Ok(value)
        }
        Ok(Err(error)) => Err(open.fail(Some(error)).await),
        Err(_) => Err(open.fail(None).await),
    }
}

/// A call between its permission and its account.
struct OpenCall<'h> {
    host: &'h Arc<Host>,
    plugin: &'h Arc<Plugin>,
    context: CallContext,
    live: GuestInstance<'h>,
    permit: Permit,
    /// Whether a fault counts against the plugin.
    counts: bool,
    /// Whether it belongs to the preview of a turn.
    previews: bool,
    /// The call log of `plugin dev`, while one listens.
    log: Option<OpenLog>,
    limit: Duration,
    began: Instant,
    /// The time that it spent working, without waiting.
    busy: Duration,
}

impl<'h> OpenCall<'h> {
    /// Waits for the quarantine's permission and makes the store.
    async fn begin(
        host: &'h Arc<Host>,
        plugin: &'h Arc<Plugin>,
        context: CallContext,
    ) -> std::result::Result<Self, Fault> {
        let hook = context.call.name();
        let fault = |kind| Fault { plugin: plugin.name.clone(), hook, kind, output: None };
        // Calls during loading are not counted: the plugin is not in use yet.
        let previews = context.turn.as_ref().is_some_and(|turn| turn.is_preview());
        // Nor are those of a playback, which breaks what broke before.
        let counts = context.call != Call::Load && !previews && !host.recordings.is_playback();
        let permit = match (counts, previews) {
            (true, _) => host.quarantine.begin(plugin, context.circuit_key()).await,
            (false, true) => host
                .quarantine
                .open_circuit(plugin, context.circuit_key())
                .map_or(Ok(Permit::default()), |circuit| Err(Box::new(circuit))),
            (false, false) => Ok(Permit::default()),
        };
        let permit = permit.map_err(|circuit| fault(FaultKind::OpenCircuit(circuit)))?;
        if !permit.wait.is_zero() {
            tokio::time::sleep(permit.wait).await;
        }
        // A plugin is queried with the code that it is going to be opened with.
        if context.call != Call::Load && !plugin.is_open() {
            // Boxed, because few calls are the first of their plugin.
            if let Err(error) = Box::pin(host.open_plugin(plugin)).await {
                let broken = fault(error.to_fault());
                return Err(unopened(host, plugin, &context, broken, counts && !error.is_passing, permit).await);
            }
        }
        let limit = deadline(host, plugin, &context);
        let context = recorded(host, plugin, context, previews);
        let log = host.call_log.open(plugin);
        let live = GuestInstance::new(host, plugin, &context);
        let mut live = live.map_err(|error| fault(FaultKind::Trap(format!("{error:#}"))))?;
        if log.is_some() {
            live.store.data_mut().recorder.measure();
        }
        let (began, busy) = (Instant::now(), Duration::ZERO);
        Ok(Self { host, plugin, context, live, permit, counts, previews, log, limit, began, busy })
    }

    /// Ends its output and adds its fuel to the turn. Returns its time and its fuel.
    fn end(&self) -> (Duration, u64) {
        let (took, fuel) = (self.began.elapsed(), self.live.fuel(self.plugin));
        if let Some(turn) = &self.context.turn {
            turn.fuel.fetch_add(fuel, Ordering::Relaxed);
        }
        self.live.store.data().output.end();
        self.context.recording.used(fuel, self.live.store.data().limiter.used());
        if bub_telemetry::is_on() {
            let span = Span::current();
            span.record("digest", &*self.plugin.digest);
            span.record("fuel", fuel).record("memory", self.live.store.data().limiter.used());
        }
        (took, fuel)
    }

    /// Adds the call to the log of `plugin dev`.
    fn log(&self, took: Duration, fuel: u64, fault: Option<&FaultKind>) {
        let Some(log) = &self.log else { return };
        let state = self.live.store.data();
        let (given, answered) = state.recorder.sizes();
        log.write(&serde_json::json!({
            "hook": self.context.call.name(),
            "session": self.context.session(),
            "digest": self.plugin.digest,
            "milliseconds": took.as_secs_f64() * 1e3,
            "fuel": fuel,
            "memory": state.limiter.used(),
            "given": given,
            "answered": answered,
            "fault": fault.map(|fault| self.host.config.redact(&fault.to_string())),
        }));
    }

    async fn succeed(self) {
        let (took, fuel) = self.end();
        self.log(took, fuel, None);
        if bub_telemetry::is_on() {
            Span::current().record("outcome", "returned");
        }
        let Self { host, plugin, context, live, permit, counts, .. } = self;
        host.meter.add(&plugin.name, context.call.name(), took, fuel, None);
        context.recording.ends(None);
        // A call that made the turn hold too much is not a success.
        if counts && !context.turn.as_ref().is_some_and(|turn| turn.is_large_consumer(plugin)) {
            host.quarantine.succeeded(plugin, context.circuit_key(), permit).await;
        }
        if let Some(turn) = &context.turn {
            live.rest(plugin, turn, &context.recording);
        }
    }

    /// Names and records the fault. `error` is missing where the deadline passed.
    async fn fail(self, error: Option<wasmtime::Error>) -> Fault {
        let (took, fuel) = self.end();
        let kind = match error {
            Some(error) => classify(&error, self.live.store.data()),
            None => FaultKind::Deadline(self.limit),
        };
        self.log(took, fuel, Some(&kind));
        let Self { host, plugin, context, live, permit, counts, previews, limit, busy, .. } = self;
        let (hook, turn, session) = (context.call.name(), context.turn.as_deref(), context.session());
        context.recording.ends(Some(&kind));
        let broken = Fault { plugin: plugin.name.clone(), hook, kind, output: live.store.data().output.shown() };
        record_fault(&broken);
        if let Some((holder, broken)) = turn.and_then(|turn| filled(turn, plugin, &broken)) {
            host.meter.add(&plugin.name, hook, took, fuel, None);
            publish(host, &broken, (Duration::ZERO, 0), session);
            if !previews {
                let call = (&*holder, context.circuit_key(), Permit::default());
                charge(host, call, &broken, CallRecorder::default(), turn).await;
            }
            return broken;
        }
        publish(host, &broken, (took, fuel), session);
        if matches!(broken.kind, FaultKind::Deadline(_)) {
            host.quarantine.was_slow(plugin, &broken);
        }
        // A deadline that was spent waiting for a model, a page or a disk is not the plugin's fault.
        let only_waited = matches!(broken.kind, FaultKind::Deadline(_)) && busy < limit / 2;
        if counts && !only_waited {
            let recorder = live.store.data().recorder.clone();
            charge(host, (plugin, context.circuit_key(), permit), &broken, recorder, turn).await;
        }
        broken
    }
}

/// Ends the span of a call with its fault.
fn record_fault(fault: &Fault) {
    if bub_telemetry::is_on() {
        let span = Span::current();
        span.record("outcome", "fault").record("error.type", fault.kind.name());
        span.record("otel.status", fault.kind.to_string());
    }
}

/// The same call, recorded or played back where the host does that with the plugin.
fn recorded(host: &Host, plugin: &Arc<Plugin>, context: CallContext, is_preview: bool) -> CallContext {
    if context.call == Call::Load || is_preview {
        return context;
    }
    let of_turn = context.turn_recorder().map(|recorder| (recorder, context.place()));
    let recording = host.recordings.begin(plugin, context.call.name(), of_turn, SeenTurn(context.turn.as_deref()));
    context.recorded(recording)
}

/// The turn of a call, for its recording.
struct SeenTurn<'a>(Option<&'a Turn>);

impl TurnView for SeenTurn<'_> {
    fn key(&self) -> u64 {
        self.0.map_or(0, Turn::snapshot_key)
    }

    fn snapshot(&self) -> Value {
        self.0.map_or(Value::Null, Turn::snapshot)
    }

    fn late_snapshot(&self) -> (usize, LateValue) {
        self.0.map_or_else(|| (0, Box::new(|| Value::Null) as LateValue), Turn::late_snapshot)
    }
}

/// Counts and reports a call of a plugin that could not be opened, as the fault that it is.
async fn unopened(
    host: &Arc<Host>,
    plugin: &Arc<Plugin>,
    context: &CallContext,
    broken: Fault,
    counts: bool,
    permit: Permit,
) -> Fault {
    publish(host, &broken, (Duration::ZERO, 0), context.session());
    if counts {
        let call = (&**plugin, context.circuit_key(), permit);
        charge(host, call, &broken, CallRecorder::default(), context.turn.as_deref()).await;
    }
    broken
}

/// Adds a fault to the metrics of its plugin, with the time and the fuel of the call, and to the events.
fn publish(host: &Host, fault: &Fault, (took, fuel): (Duration, u64), session: &str) {
    host.meter.add(&fault.plugin, fault.hook, took, fuel, Some(fault));
    let event = RuntimeEvent::Fault { plugin: fault.plugin.clone(), hook: fault.hook, what: fault.kind.to_string() };
    host.events.publish(event, session);
}

/// Counts a fault against the plugin, with a crash report of the call, and reports the quarantine that it may begin.
async fn charge(
    host: &Host,
    call: (&Plugin, CircuitKey<'_>, Permit),
    fault: &Fault,
    recorder: CallRecorder,
    turn: Option<&Turn>,
) {
    let plugin = call.0;
    let redact = |text: &str| host.config.redact(text);
    let snapshot = || turn.map_or(Value::Null, Turn::snapshot);
    let context = CrashContext { redact: &redact, recorder, turn: turn.is_some().then_some(&snapshot) };
    let consequence = host.quarantine.faulted(call, fault, &context).await;
    tell(turn, plugin, consequence).await;
}

/// A fault that is another plugin's: the call ran out of room, and by then another plugin made the turn hold so much that
/// handing it over takes half of that room. The call ends all the same, because the turn has no room for what it does.
fn filled(turn: &Turn, plugin: &Arc<Plugin>, broken: &Fault) -> Option<(Arc<Plugin>, Fault)> {
    let (FaultKind::OutOfMemory(limit) | FaultKind::TooMuchOutput(limit) | FaultKind::TooMuchKept(limit)) = broken.kind
    else {
        return None;
    };
    let holder =
        turn.largest_consumer().filter(|holder| holder.bytes >= limit / 2 && holder.plugin.name != plugin.name)?;
    let kind = FaultKind::FilledTurn { bytes: holder.bytes, broke: Box::new(broken.clone()) };
    let fault = Fault { plugin: holder.plugin.name.clone(), hook: holder.hook, kind, output: None };
    Some((holder.plugin, fault))
}

/// Reports a new quarantine: in the log, and on the tape of the turn that it broke.
async fn tell(turn: Option<&Turn>, plugin: &Plugin, Consequence { circuit, reproducer }: Consequence) {
    let Some(circuit) = circuit else { return };
    let shown = reproducer.as_ref().map(|path| format!("; what broke it: `{}`", path.display())).unwrap_or_default();
    tracing::warn!("hook `{}` of plugin `{}` is {circuit}{shown}", circuit.hook, plugin.name);
    if let Some(turn) = turn {
        let data = serde_json::json!({
            "plugin": plugin.name,
            "digest": circuit.digest,
            "hook": circuit.hook,
            "everywhere": circuit.session.is_none() && circuit.caller.is_none(),
            "caller": circuit.caller,
            "seconds": circuit.left.as_secs(),
            "fault": circuit.fault,
            "reproducer": reproducer,
        });
        if let Err(error) = turn.append_event("plugin.quarantined", &data).await {
            tracing::warn!("the quarantine is not on the tape: {error}");
        }
    }
}

/// Adds the time that the future spends working, without waiting, to `busy`.
async fn timed<T>(busy: &mut Duration, future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let start = Instant::now();
        let polled = future.as_mut().poll(context);
        *busy += start.elapsed();
        polled
    })
    .await
}

/// The deadline of a call. A call that waits for a model or a person has the turn's deadline only, and so has a
/// command, for which a person waits who can end it. Every other call has a short one of its own, also when the turn's
/// time is over: its state is still saved, and its failure still told.
fn deadline(host: &Host, plugin: &Plugin, context: &CallContext) -> Duration {
    match context.call.deadline() {
        Deadline::Turn => {
            let own = plugin.limits.turn_deadline();
            // The turn notices the end of its time first: it is then the turn that was too long, not the plugin.
            let left = context.turn.as_ref().map_or(own, |turn| turn.time_left() + Duration::from_secs(1));
            if own < host.config.limits().turn_deadline() { left.min(own) } else { left }
        }
        // Behind the answer a model may be asked once more, for a summary.
        Deadline::AfterTurn => plugin.limits.deadline().max(AFTER_TURN_DEADLINE),
        // These go over the network, and may ask more than once.
        Deadline::Delivery => plugin.limits.deadline().max(DELIVERY),
        Deadline::Plugin => plugin.limits.deadline(),
    }
}
