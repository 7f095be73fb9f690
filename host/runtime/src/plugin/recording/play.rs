//! Plays a recorded call back.

use super::call::{ImportCall, RecordedCall};
use super::file_data::RecordedFiles;
use super::live::{COMPLETE, LiveModel, NEXT};
use super::scratch::Scratch;
use super::{CallRecording, Log, Session};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Imports that tell the host something, and whose answers say no more than that it was told. In a strict playback they may
/// be called with other arguments.
const TELLS: [&str; 7] = [
    "bub:plugin/log.log",
    "bub:turn/turn.set",
    "bub:turn/turn.set_message_kind",
    "bub:turn/turn.emit",
    "bub:model/sink.send",
    "bub:process/servers.server.set_prepared",
    "bub:context/view.replace_new_messages",
];

/// The import that writes entries to a tape.
const APPEND: &str = "bub:tape/tape.append";

/// A recorded call that is made again, once.
#[derive(Clone)]
pub struct Playback {
    session: Arc<Session>,
    has_begun: Arc<AtomicBool>,
}

/// A call as it was made now.
#[derive(Debug, Clone)]
pub struct Played {
    /// The call.
    pub call: RecordedCall,
    /// The name of the fault that ended it, if one did.
    pub fault: Option<&'static str>,
    /// The first import that the recording has no answer for, with its arguments.
    pub question: Option<(String, Vec<Value>)>,
    /// Fuel that it used.
    pub fuel: u64,
}

impl Playback {
    /// Plays that call.
    pub fn new(recorded: &RecordedCall) -> Self {
        Self::with(recorded, Expected::new(recorded), Log::default())
    }

    /// Plays that call of a turn, in that instance, with those readings of the monotonic clock and those files. A strict one
    /// answers an import only if it is called with the arguments that were recorded.
    ///
    /// # Errors
    ///
    /// The files cannot be made.
    pub fn of_turn(
        recorded: &RecordedCall,
        instance: Option<u64>,
        monotonic: Vec<u64>,
        files: &RecordedFiles,
        is_strict: bool,
    ) -> Result<Self, String> {
        let scratch = (!files.is_empty()).then(|| Scratch::new(files)).transpose()?;
        let expected = Expected { monotonic: Readings::new(monotonic), is_strict, scratch, ..Expected::new(recorded) };
        Ok(Self::with(recorded, expected, Log { instance, ..Log::default() }))
    }

    /// The same; a model call that the recording does not answer is asked of that model.
    pub fn with_live(self, live: Option<Arc<LiveModel>>) -> Self {
        if let Some(expected) = &self.session.expected {
            expected.lock().live = live;
        }
        self
    }

    fn with(recorded: &RecordedCall, expected: Expected, log: Log) -> Self {
        let RecordedCall { plugin, call, random, .. } = recorded;
        let log = Log { call: RecordedCall::new(plugin, call, random.clone()), ..log };
        let expected = Some(Box::new(Mutex::new(expected)));
        let session = Session { log: Mutex::new(log), expected, recorder: None, turn: None };
        Self { session: Arc::new(session), has_begun: Arc::default() }
    }

    pub(super) fn begin(&self, plugin: &str, call: &str) -> CallRecording {
        let is_it = {
            let log = self.session.log.lock();
            log.call.plugin == plugin && log.call.call == call
        };
        if is_it && !self.has_begun.swap(true, Ordering::Relaxed) {
            return CallRecording(Some(self.session.clone()));
        }
        CallRecording::default()
    }

    /// The call as it was made now; none if the plugin was not called.
    pub fn played(&self) -> Option<RecordedCall> {
        let made = || {
            let log = self.session.log.lock();
            RecordedCall { arguments: log.arguments.made(), ..log.call.clone() }
        };
        self.has_begun.load(Ordering::Relaxed).then(made)
    }

    /// The same, with how it ended.
    pub fn outcome(&self) -> Option<Played> {
        let call = self.played()?;
        let (fault, fuel) = {
            let log = self.session.log.lock();
            (log.fault, log.fuel)
        };
        let question = self.session.expected.as_ref().and_then(|expected| expected.lock().question.clone());
        Some(Played { call, fault, question, fuel })
    }
}

impl CallRecording {
    /// Whether a strict playback has met an import that the recording does not answer.
    pub(crate) fn has_question(&self) -> bool {
        let expected = self.0.as_ref().and_then(|session| session.expected.as_ref());
        expected.is_some_and(|expected| {
            let expected = expected.lock();
            expected.is_strict && expected.question.is_some()
        })
    }

    /// The model to be asked, if the recording does not answer that call of an import and a model may.
    pub(crate) fn live(&self, function: &str, arguments: &[Value]) -> Option<Arc<LiveModel>> {
        let expected = self.0.as_ref()?.expected.as_ref()?.lock();
        let live = expected.live.as_ref().filter(|_| function == COMPLETE)?;
        expected.open(function).all(|at| expected.imports[at].arguments != arguments).then(|| live.clone())
    }

    /// What a model has answered stands in the place of the next model call that was recorded.
    pub(crate) fn answer_live(&self, calls: Vec<ImportCall>) {
        if let Some(expected) = self.0.as_ref().and_then(|session| session.expected.as_ref()) {
            expected.lock().answer_live(calls);
        }
    }

    /// The directories of the playback, each with its name and whether it can be written to; none: the plugin's own.
    pub(crate) fn directories(&self) -> Option<Vec<(std::path::PathBuf, String, bool)>> {
        let expected = self.0.as_ref()?.expected.as_ref()?.lock();
        Some(expected.scratch.as_ref().map_or_else(Vec::new, Scratch::directories))
    }
}

/// The answers that are left.
pub(super) struct Expected {
    imports: Vec<ImportCall>,
    is_used: Vec<bool>,
    /// All before this one are used.
    first: usize,
    clock: Readings<f64>,
    monotonic: Readings<u64>,
    is_strict: bool,
    question: Option<(String, Vec<Value>)>,
    scratch: Option<Scratch>,
    live: Option<Arc<LiveModel>>,
    /// Whether a model has answered something that was not recorded.
    is_beyond: bool,
}

impl Expected {
    fn new(recorded: &RecordedCall) -> Self {
        let RecordedCall { imports, clock, .. } = recorded;
        Self {
            imports: imports.clone(),
            is_used: vec![false; imports.len()],
            first: 0,
            clock: Readings::new(clock.clone()),
            monotonic: Readings::new(Vec::new()),
            is_strict: false,
            question: None,
            scratch: None,
            live: None,
            is_beyond: false,
        }
    }

    /// That of the first call with the same arguments; else that of the first one of the same function, so that a call that
    /// has changed is followed to its end.
    pub(super) fn answer(&mut self, function: &str, arguments: &[Value]) -> Option<Value> {
        while self.is_used.get(self.first) == Some(&true) {
            self.first += 1;
        }
        let open = || self.open(function);
        // Behind another answer of a model other entries are written, and nothing is: those that were stand for them.
        let tells = TELLS.contains(&function) || (self.is_beyond && function == APPEND);
        let found = open().find(|at| self.imports[*at].arguments == arguments);
        let found = found.or_else(|| open().next().filter(|_| !self.is_strict || tells));
        if let Some(at) = found {
            self.is_used[at] = true;
            return Some(self.imports[at].answer.clone());
        }
        if self.is_strict && TELLS.contains(&function) {
            return Some(if function == "bub:plugin/log.log" { Value::Null } else { json!({ "ok": null }) });
        }
        self.question.get_or_insert_with(|| (function.to_owned(), arguments.to_vec()));
        None
    }

    /// The calls of that function that are left.
    fn open(&self, function: &str) -> impl Iterator<Item = usize> {
        (self.first..self.imports.len()).filter(move |at| !self.is_used[*at] && self.imports[*at].function == function)
    }

    fn answer_live(&mut self, calls: Vec<ImportCall>) {
        self.is_beyond = true;
        let place = self.open(COMPLETE).next();
        if let Some(place) = place {
            // What was read of the answer then is not read now.
            self.is_used[place] = true;
            let read = (place + 1..self.imports.len()).take_while(|at| self.imports[*at].function != COMPLETE);
            let read: Vec<usize> = read.filter(|at| self.imports[*at].function == NEXT).collect();
            read.into_iter().for_each(|at| self.is_used[at] = true);
        }
        let place = place.unwrap_or(self.imports.len());
        self.is_used.splice(place..place, calls.iter().map(|_| false));
        self.imports.splice(place..place, calls);
        self.first = self.first.min(place);
    }

    /// The next time; the last one again where the clock is asked more often.
    pub(super) fn clock(&mut self, now: f64) -> f64 {
        self.clock.next(now)
    }

    pub(super) fn monotonic(&mut self, now: u64) -> u64 {
        self.monotonic.next(now)
    }
}

/// The readings of a clock.
struct Readings<T> {
    all: Vec<T>,
    next: usize,
}

impl<T: Copy> Readings<T> {
    fn new(all: Vec<T>) -> Self {
        Self { all, next: 0 }
    }

    fn next(&mut self, now: T) -> T {
        let reading = self.all.get(self.next).or(self.all.last()).copied();
        self.next += 1;
        reading.unwrap_or(now)
    }
}
