//! Collects the calls of one turn. What is collected is turned into a file by another thread, behind the answer.

use super::call::weight;
use super::record::{Recorder, local_parts, seed};
use super::{CallRecording, Log, RecordedCall, Session, TurnView};
use crate::plugin::loaded::Plugin;
use bub_recordings::{CallRecord, Ended, ImportRecord, Shared};
use bub_types::hook::Deadline;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Values of one turn that are held until it is written, at most, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Calls of one turn, at most.
const MAX_CALLS: usize = 20_000;

/// Why a call of a turn has no values.
pub(super) const TOO_LARGE: &str = "the turn has more than 32 MiB of values";

/// The calls of a turn, in the order in which they began.
#[derive(Default)]
pub struct TurnRecorder {
    collected: Mutex<Collected>,
    instances: AtomicU64,
    bytes: AtomicUsize,
    has_broken: AtomicBool,
    is_discarded: AtomicBool,
}

#[derive(Default)]
struct Collected {
    calls: Vec<Collecting>,
    /// The turn as the latest call saw it.
    snapshot: Shared,
    key: Option<u64>,
    objects: BTreeMap<String, LateValue>,
    is_over: bool,
}

/// A call that may still run.
struct Collecting {
    session: Arc<Session>,
    plugin: Arc<Plugin>,
    place: CallPlace,
    parent: Option<u64>,
    snapshot: Shared,
}

/// A value that the thread that writes makes, so that the turn does not wait for it.
pub type LateValue = Box<dyn FnOnce() -> Value + Send>;

/// Where a call belongs: its turn, and how many others it is nested in.
#[derive(Debug, Clone, Default)]
pub struct CallPlace {
    /// The id of the turn, or of the turn inside of it; empty outside of turns.
    pub turn: String,
    /// How many calls of that turn it is nested in.
    pub depth: u32,
}

impl TurnRecorder {
    pub(super) fn begin(
        self: &Arc<Self>,
        plugin: &Arc<Plugin>,
        call: &'static str,
        place: CallPlace,
        view: impl TurnView,
        recorder: Option<Recorder>,
    ) -> CallRecording {
        let recorded = match &recorder {
            Some(recorder) => recorder.call(plugin, call, view.snapshot()),
            None => RecordedCall::new(&plugin.name, call, seed()),
        };
        let log = Mutex::new(Log { call: recorded, ..Log::default() });
        let mut collected = self.collected.lock();
        if collected.is_over || collected.calls.len() >= MAX_CALLS {
            return CallRecording::default();
        }
        let session = Arc::new(Session { log, expected: None, recorder, turn: Some(self.clone()) });
        // Most calls see the turn as the one before them did.
        let key = Some(view.key());
        if collected.key != key {
            let mut seen = view.snapshot();
            local_parts(&mut seen);
            self.charge(weight(&seen));
            (collected.snapshot, collected.key) = (Arc::new(seen), key);
        }
        let parent = collected.parent(&place);
        let (plugin, snapshot) = (plugin.clone(), collected.snapshot.clone());
        collected.calls.push(Collecting { session: session.clone(), plugin, place, parent, snapshot });
        CallRecording(Some(session))
    }

    /// The number of a new instance.
    pub(super) fn new_instance(&self) -> u64 {
        self.instances.fetch_add(1, Ordering::Relaxed)
    }

    /// Holds so many bytes more. Returns whether there was room for them.
    pub(super) fn charge(&self, bytes: usize) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed) <= MAX_BYTES
    }

    /// A call broke.
    pub(super) fn has_broken(&self) {
        self.has_broken.store(true, Ordering::Relaxed);
    }

    /// Whether a call broke so far.
    pub fn is_broken(&self) -> bool {
        self.has_broken.load(Ordering::Relaxed)
    }

    /// The turn is not to be recorded: what it was about is to be gone.
    pub fn discard(&self) {
        self.is_discarded.store(true, Ordering::Relaxed);
    }

    /// Whether it is not to be recorded.
    pub fn is_discarded(&self) -> bool {
        self.is_discarded.load(Ordering::Relaxed)
    }

    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).min(MAX_BYTES)
    }

    /// Adds a further value, which holds about that many bytes, to the recording of the turn.
    pub fn add_object(&self, name: String, bytes: usize, value: LateValue) {
        if self.charge(bytes) {
            self.collected.lock().objects.insert(name, value);
        }
    }

    /// Ends the collection: the calls, and the further values. Calls that still run are cancelled ones.
    pub fn finish(&self) -> (Vec<CallRecord>, BTreeMap<String, LateValue>) {
        let collected = {
            let mut collected = self.collected.lock();
            std::mem::replace(&mut *collected, Collected { is_over: true, ..Collected::default() })
        };
        let mut configs: HashMap<usize, Shared> = HashMap::new();
        let calls = collected.calls.into_iter().map(|call| {
            let place = Arc::as_ptr(&call.plugin) as usize;
            let config = configs.entry(place).or_insert_with(|| Arc::new(settings(&call.plugin)));
            call.into_record(config.clone())
        });
        (calls.collect(), collected.objects)
    }
}

/// The settings of a plugin that calls depend on.
fn settings(plugin: &Plugin) -> Value {
    let limits = &plugin.limits;
    json!({
        "config": plugin.config,
        "limits": {
            "fuel": limits.fuel,
            "depth": limits.depth,
            "memory_mib": limits.memory_bytes() >> 20,
            "output_mib": limits.output_bytes() >> 20,
            "calls": limits.calls(Deadline::Plugin),
        },
    })
}

impl Collected {
    /// The call that one at that place is part of: the latest of the same turn that runs one level above it.
    fn parent(&self, place: &CallPlace) -> Option<u64> {
        let above = place.depth.checked_sub(1)?;
        let runs = |call: &Collecting| !call.session.log.lock().has_ended;
        let is_it = |call: &&Collecting| call.place.depth == above && call.place.turn == place.turn && runs(call);
        self.calls.iter().rposition(|call| is_it(&call)).map(|at| at as u64)
    }
}

impl Collecting {
    fn into_record(self, config: Shared) -> CallRecord {
        let log = std::mem::take(&mut *self.session.log.lock());
        let RecordedCall { plugin, call, answer, fault, imports, clock, random, .. } = log.call;
        let imports = imports.into_iter();
        let ended = match (log.has_ended, log.fault) {
            (false, _) => Ended::Cancelled,
            (true, Some(_)) => Ended::Fault,
            (true, None) => Ended::Returned,
        };
        let (files, unfit) = log.files.finish();
        CallRecord {
            plugin,
            component: self.plugin.digest.clone(),
            hook: call,
            config,
            turn: self.snapshot,
            arguments: Arc::unwrap_or_clone(log.arguments),
            ended,
            answer: answer.or(log.rejected),
            fault: log.fault.map(|name| (name.to_owned(), fault.unwrap_or_default())),
            imports: imports
                .map(|import| ImportRecord {
                    function: import.function,
                    arguments: import.arguments,
                    answer: import.answer,
                })
                .collect(),
            clock,
            monotonic: log.monotonic,
            random,
            files,
            instance: log.instance,
            parent: self.parent,
            fuel: log.fuel,
            memory: log.memory,
            unrecorded: log.unrecorded.or(unfit),
        }
    }
}
