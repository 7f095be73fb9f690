//! Collects the calls of one turn. What is collected is turned into a file by another thread, behind the answer.

use super::late::{LateImport, LateShared, LateValue};
use super::record::{Recorder, local_parts, seed};
use super::{CallRecording, Log, RecordedCall, RunningTurn, Session, TurnView};
use crate::plugin::loaded::Plugin;
use bub_recordings::{CallRecord, Ended, Mark, Shared};
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
pub struct TurnRecorder {
    collected: Mutex<Collected>,
    /// What the seeds of its calls begin with.
    seed: String,
    calls: AtomicU64,
    instances: AtomicU64,
    bytes: AtomicUsize,
    has_broken: AtomicBool,
    is_discarded: AtomicBool,
}

#[derive(Default)]
struct Collected {
    calls: Vec<Collecting>,
    /// The turn as the latest call saw it, with a number for what it saw.
    snapshot: Option<(u64, LateShared)>,
    objects: BTreeMap<String, LateValue>,
    is_over: bool,
    /// Held until the turn is over.
    _running: Option<RunningTurn>,
}

/// A call that may still run.
struct Collecting {
    session: Arc<Session>,
    plugin: Arc<Plugin>,
    hook: &'static str,
    place: CallPlace,
    parent: Option<u64>,
    snapshot: LateShared,
}

/// A turn that has ended, before its values are JSON.
pub struct CollectedTurn {
    calls: Vec<Collecting>,
    objects: BTreeMap<String, LateValue>,
}

/// Where a call belongs: its turn, and how many others it is nested in.
#[derive(Debug, Clone, Default)]
pub struct CallPlace {
    /// The id of the turn, or of the turn inside of it; none outside of turns.
    pub turn: Option<Arc<str>>,
    /// How many calls of that turn it is nested in.
    pub depth: u32,
}

impl TurnRecorder {
    /// Collects a turn that begins.
    pub fn new(running: RunningTurn) -> Self {
        Self {
            collected: Mutex::new(Collected { _running: Some(running), ..Collected::default() }),
            seed: seed(),
            calls: AtomicU64::default(),
            instances: AtomicU64::default(),
            bytes: AtomicUsize::default(),
            has_broken: AtomicBool::default(),
            is_discarded: AtomicBool::default(),
        }
    }

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
            // Whose call it is the turn knows.
            None => RecordedCall { random: self.next_seed(), ..RecordedCall::default() },
        };
        let log = Mutex::new(Log { call: recorded, ..Log::default() });
        let mut collected = self.collected.lock();
        if collected.is_over || collected.calls.len() >= MAX_CALLS {
            return CallRecording::default();
        }
        let session = Arc::new(Session { log, expected: None, recorder, turn: Some(self.clone()) });
        // Most calls see the turn as the one before them did.
        let key = view.key();
        let known = collected.snapshot.as_ref().filter(|(known, _)| *known == key);
        let snapshot = known.map(|(_, snapshot)| snapshot.clone()).unwrap_or_else(|| {
            let (weight, make) = view.late_snapshot();
            self.charge(weight);
            LateShared::new(Box::new(move || {
                let mut seen = make();
                local_parts(&mut seen);
                seen
            }))
        });
        collected.snapshot = Some((key, snapshot.clone()));
        let parent = collected.parent(&place);
        let plugin = plugin.clone();
        collected.calls.push(Collecting { session: session.clone(), plugin, hook: call, place, parent, snapshot });
        CallRecording(Some(session))
    }

    /// The seed of random numbers of another call: as no other one's, and as hard to guess as the turn's.
    fn next_seed(&self) -> String {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        // Without the machinery of `format!`, for each call of each turn.
        let mut seed = String::with_capacity(self.seed.len() + 8);
        seed.push_str(&self.seed);
        seed.extend((0..8).rev().map(|digit| char::from(b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15])));
        seed
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

    /// Ends the collection. Calls that still run are cancelled ones.
    pub fn finish(&self) -> CollectedTurn {
        let Collected { mut calls, objects, .. } = {
            let mut collected = self.collected.lock();
            std::mem::replace(&mut *collected, Collected { is_over: true, ..Collected::default() })
        };
        // Nothing changes in the others any more.
        for call in calls.iter_mut().filter(|call| !call.session.log.lock().has_ended) {
            let log = std::mem::take(&mut *call.session.log.lock());
            call.session = Arc::new(Session { log: Mutex::new(log), expected: None, recorder: None, turn: None });
        }
        CollectedTurn { calls, objects }
    }
}

impl CollectedTurn {
    /// The calls, and the further values. To be called where no turn waits.
    pub fn into_records(self) -> (Vec<CallRecord>, BTreeMap<String, Value>) {
        let mut configs: HashMap<usize, Shared> = HashMap::new();
        let calls = self.calls.into_iter().map(|Collecting { session, plugin, hook, parent, snapshot, .. }| {
            let place = Arc::as_ptr(&plugin) as usize;
            let config = configs.entry(place).or_insert_with(|| Arc::new(settings(&plugin))).clone();
            let log = std::mem::take(&mut *session.log.lock());
            CallRecord {
                plugin: plugin.name.clone(),
                component: plugin.digest.clone(),
                hook: hook.to_owned(),
                parent,
                turn: snapshot.make(),
                config,
                ..log.into_record()
            }
        });
        (calls.collect(), self.objects.into_iter().map(|(name, value)| (name, value())).collect())
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

impl Log {
    fn into_record(self) -> CallRecord {
        let RecordedCall { answer, fault, clock, random, .. } = self.call;
        let ended = match (self.has_ended, self.fault) {
            (false, _) => Ended::Cancelled,
            (true, Some(_)) => Ended::Fault,
            (true, None) => Ended::Returned,
        };
        let (files, unfit) = self.files.finish();
        let mut packed = self.packed.read(Mark::default());
        let early = self.call.imports.into_iter().map(|call| LateImport::Made(Box::new(call)));
        CallRecord {
            arguments: self.arguments.make().unwrap_or_default(),
            ended,
            answer: answer.or(self.rejected).or_else(|| self.answer.make()),
            fault: self.fault.map(|name| (name.to_owned(), fault.unwrap_or_default())),
            imports: early.chain(self.imports).map(|import| import.into_record(&mut packed)).collect(),
            clock,
            monotonic: self.monotonic,
            random,
            files,
            instance: self.instance,
            fuel: self.fuel,
            memory: self.memory,
            unrecorded: self.unrecorded.or(unfit),
            ..CallRecord::default()
        }
    }
}
