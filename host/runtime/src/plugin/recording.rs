//! Records calls of plugins with the answers of their imports, and plays them back.
//!
//! A recorded call is data alone: what went in, each call of an import with its answer in order, and what came out. The
//! layer that serves imports passes every call through [`CallRecording`], which keeps the answer or gives the kept one.
//! A [`Recorder`] keeps the calls of one plugin, a [`TurnRecorder`] all calls of one turn.

mod call;
mod file_data;
mod files;
mod imports;
mod late;
mod length;
mod live;
mod play;
mod record;
mod scratch;
mod turn;
mod writer;

pub use call::{FORMAT, ImportCall, RecordedCall};
pub use file_data::{Directory, FileEntry, Found, RecordedFiles};
pub(crate) use late::copied;
pub use late::{LateValue, Owned};
pub use length::length;
pub(crate) use live::{COMPLETE, NEXT};
pub use live::{LiveAnswer, LiveModel};
pub use play::{Playback, Played};
pub use record::{Recorded, Recorder};
pub use turn::{CallPlace, CollectedTurn, TurnRecorder};
pub use writer::{RunningTurn, Writer};

use super::fault::FaultKind;
use super::loaded::Plugin;
use bub_recordings::{Limits, Mark, Packed, Store};
use files::CallFiles;
use late::{CallValue, LateImport};
use parking_lot::{Mutex, RwLock};
use play::Expected;
use serde::Serialize;
use serde_json::Value;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

/// The recordings or playbacks of a host; by default none.
#[derive(Default)]
pub struct Recordings {
    active: RwLock<Vec<Active>>,
    /// Instances between two calls of a playback, by the number that the recording gives them.
    parked: Mutex<HashMap<u64, Box<dyn Any + Send>>>,
    kept: Mutex<Kept>,
    /// Writes recordings of turns behind their answers.
    pub writer: Writer,
}

/// What is known of the files of recordings, so that they are not listed for each turn.
#[derive(Default)]
struct Kept {
    /// Bytes that were there when they were listed, and those that were added since.
    bytes: u64,
    /// Recordings since then; none: they were not listed yet.
    written: Option<u32>,
}

/// Recordings that may be written until the files are listed again: other processes write too.
const MAX_UNLISTED: u32 = 256;

/// The turn of a call that begins.
pub trait TurnView {
    /// A number that is another one when hooks see another turn.
    fn key(&self) -> u64;

    /// The turn as hooks see it; null outside of a turn.
    fn snapshot(&self) -> Value;

    /// The same, made later from copies of about that many bytes.
    fn late_snapshot(&self) -> (usize, LateValue);
}

/// One of both.
enum Active {
    Record(Recorder),
    Play(Playback),
}

impl Recordings {
    /// Records the calls of the recorder's plugin from now on.
    pub fn record(&self, recorder: Recorder) {
        self.active.write().push(Active::Record(recorder));
    }

    /// Answers the imports of the next such call of the plugin from a recording.
    pub fn play(&self, playback: Playback) {
        *self.active.write() = vec![Active::Play(playback)];
    }

    /// Whether calls are played back.
    pub fn is_playback(&self) -> bool {
        matches!(&**self.active.read(), [Active::Play(_)])
    }

    /// The recording or playback of a call that begins, in that turn if there is one that is recorded.
    pub fn begin(
        &self,
        plugin: &Arc<Plugin>,
        call: &'static str,
        turn: Option<(&Arc<TurnRecorder>, CallPlace)>,
        snapshot: impl TurnView,
    ) -> CallRecording {
        let recorder = {
            let active = self.active.read();
            let mut recorder = None;
            for active in active.iter() {
                match active {
                    Active::Record(found) if found.is_for(&plugin.name) => recorder = Some(found.clone()),
                    Active::Record(_) => {}
                    Active::Play(playback) => return playback.begin(&plugin.name, call),
                }
            }
            recorder
        };
        match (recorder, turn) {
            (None, None) => CallRecording::default(),
            (None, Some((turn, place))) => turn.begin(plugin, call, place, snapshot, None),
            (Some(recorder), Some((turn, place))) => turn.begin(plugin, call, place, snapshot, Some(recorder)),
            (Some(recorder), None) => recorder.begin(plugin, call, snapshot.snapshot()),
        }
    }

    /// Removes recordings beyond the bounds, if there may be any since the latest one of that size was written.
    pub fn prune(&self, store: &Store, bytes: u64, limits: Limits) {
        let mut kept = self.kept.lock();
        kept.bytes = kept.bytes.saturating_add(bytes);
        kept.written = kept.written.map(|written| written + 1);
        let is_known = kept.written.is_some_and(|written| written < MAX_UNLISTED);
        if !is_known || kept.bytes > limits.max_bytes {
            *kept = Kept { bytes: store.prune(limits), written: Some(0) };
        }
    }

    /// Keeps an instance of a playback for the next call that ran in it.
    pub(crate) fn park(&self, instance: u64, idle: Box<dyn Any + Send>) {
        self.parked.lock().insert(instance, idle);
    }

    /// The instance of that number.
    pub(crate) fn unpark(&self, instance: u64) -> Option<Box<dyn Any + Send>> {
        self.parked.lock().remove(&instance)
    }

    /// Drops the instances of a playback: its turn is over.
    pub fn forget_instances(&self) {
        let all = std::mem::take(&mut *self.parked.lock());
        drop(all);
    }
}

/// The recording or playback of one call; by default neither.
#[derive(Clone, Default)]
pub struct CallRecording(Option<Arc<Session>>);

/// A call that is being recorded or played back.
struct Session {
    log: Mutex<Log>,
    /// Of a playback. Boxed, because a turn has many calls, which are held until it is written.
    expected: Option<Box<Mutex<Expected>>>,
    /// Takes the call when it has ended.
    recorder: Option<Recorder>,
    /// Collects it with the other calls of its turn.
    turn: Option<Arc<TurnRecorder>>,
}

/// The events of the call so far.
#[derive(Default)]
struct Log {
    call: RecordedCall,
    /// The calls of imports, where only the turn's thread that writes needs them as JSON.
    imports: Vec<LateImport>,
    /// Their arguments and answers, and behind them the arguments of one that has not answered.
    packed: Packed,
    /// Behind the last answer.
    answered: Mark,
    /// Its arguments, which a crash report may need too.
    arguments: CallValue,
    /// What the export returned, where only the turn's thread that writes needs it as JSON.
    answer: CallValue,
    monotonic: Vec<u64>,
    files: CallFiles,
    /// The instance that it runs in, where others may run in it too.
    instance: Option<u64>,
    has_ended: bool,
    /// What the export returned, where the host did not take it.
    rejected: Option<Value>,
    /// The name of the fault that ended it.
    fault: Option<&'static str>,
    fuel: u64,
    memory: u64,
    /// Why the call cannot be played back.
    unrecorded: Option<String>,
}

impl Log {
    /// Drops the arguments of an import that is not answered, or whose answer is not kept.
    fn drop_unanswered(&mut self) {
        self.packed.end_at(self.answered);
    }
}

impl Session {
    /// Whether only the recording of the turn needs what is kept.
    fn is_late(&self) -> bool {
        self.turn.is_some() && self.recorder.is_none()
    }

    /// Keeps something of that weight, if the turn has room for it.
    fn keep(&self, weight: usize, keep: impl FnOnce(&mut Log)) {
        self.keep_in(&mut self.log.lock(), weight, keep);
    }

    /// The same in its log.
    fn keep_in(&self, log: &mut Log, weight: usize, keep: impl FnOnce(&mut Log)) {
        match self.turn.as_ref().is_none_or(|turn| turn.charge(weight)) {
            true => keep(log),
            false => {
                log.drop_unanswered();
                log.unrecorded = Some(turn::TOO_LARGE.to_owned());
            }
        }
    }
}

impl CallRecording {
    /// Whether the call is recorded or played back.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether imports are answered from a recording.
    pub fn is_playback(&self) -> bool {
        self.0.as_ref().is_some_and(|session| session.expected.is_some())
    }

    /// Whether the call may have an instance that another has had before: what it leaves there is then repeated too.
    pub fn may_share_instance(&self) -> bool {
        let Some(session) = &self.0 else { return true };
        match &session.expected {
            Some(_) => session.log.lock().instance.is_some(),
            None => session.recorder.is_none(),
        }
    }

    /// Changes what is recorded, if anything is.
    fn log(&self, change: impl FnOnce(&mut Log)) {
        if let Some(session) = &self.0 {
            change(&mut session.log.lock());
        }
    }

    /// The number of the recorded instance.
    pub fn instance(&self) -> Option<u64> {
        self.0.as_ref()?.log.lock().instance
    }

    /// The call runs in that instance, or in a new one. Returns its number.
    pub fn runs_in(&self, instance: Option<u64>) -> Option<u64> {
        let session = self.0.as_ref()?;
        let instance = instance.or_else(|| session.turn.as_ref().map(|turn| turn.new_instance()));
        if instance.is_some() {
            session.log.lock().instance = instance;
        }
        instance
    }

    /// Whether only the thread that writes the turn needs what is recorded, so that copies are enough until then.
    pub fn is_late(&self) -> bool {
        self.0.as_ref().is_some_and(|session| session.is_late())
    }

    /// The arguments of the export.
    pub fn arguments(&self, arguments: &Arc<Value>) {
        self.log(|log| log.arguments = CallValue::Made(arguments.clone()));
    }

    /// The same as a copy of about that many bytes, of a recording that [is late](Self::is_late).
    pub fn arguments_late(&self, weight: usize, make: impl FnOnce() -> Value + Send + 'static) {
        if let Some(session) = &self.0 {
            session.keep(weight, |log| log.arguments = CallValue::Later(Box::new(make)));
        }
    }

    /// Records the value that the export returned.
    pub fn answered(&self, answer: impl FnOnce() -> Value) {
        self.log(|log| log.call.answer = Some(plain_result(answer())));
    }

    /// The same as a copy, of a recording that [is late](Self::is_late).
    pub fn answered_late(&self, answer: impl Serialize + Send + 'static) {
        let Some(session) = &self.0 else { return };
        let make = move |answer| plain_result(serde_json::to_value(answer).unwrap_or_default());
        session.keep(length(&answer), |log| log.answer = CallValue::Later(Box::new(move || make(answer))));
    }

    /// The recorded answer of an import; none if there is no call of that function left.
    pub fn answer(&self, function: &str, arguments: &[Value]) -> Option<Value> {
        self.0.as_ref()?.expected.as_ref()?.lock().answer(function, arguments)
    }

    /// The call did something that no recording holds.
    pub fn cannot_record(&self, what: &str) {
        self.log(|log| log.unrecorded = Some(what.to_owned()));
    }

    /// The time of the wall clock: the recorded time in a playback, and otherwise `now`.
    pub fn clock(&self, now: f64) -> f64 {
        let expected = self.0.as_ref().and_then(|session| session.expected.as_ref());
        let now = expected.map_or(now, |expected| expected.lock().clock(now));
        self.read_clock(|log| log.call.clock.push(now));
        now
    }

    /// The time of the monotonic clock, in the same way.
    pub fn monotonic(&self, now: u64) -> u64 {
        let expected = self.0.as_ref().and_then(|session| session.expected.as_ref());
        let now = expected.map_or(now, |expected| expected.lock().monotonic(now));
        self.read_clock(|log| log.monotonic.push(now));
        now
    }

    /// Keeps a reading of a clock, if there is room.
    fn read_clock(&self, keep: impl FnOnce(&mut Log)) {
        if let Some(session) = &self.0 {
            session.keep(size_of::<u64>(), keep);
        }
    }

    /// The seed of random numbers.
    pub fn random(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |session| session.log.lock().call.random.clone())
    }

    /// What the call has used.
    pub fn used(&self, fuel: u64, memory: usize) {
        self.log(|log| (log.fuel, log.memory) = (fuel, memory as u64));
    }

    /// The call has ended, with a fault if there was one.
    pub fn ends(&self, fault: Option<&FaultKind>) {
        let Some(session) = &self.0 else { return };
        let mut log = session.log.lock();
        log.has_ended = true;
        log.drop_unanswered();
        log.call.fault = fault.map(ToString::to_string);
        log.fault = fault.map(FaultKind::name);
        if fault.is_some() {
            log.rejected = log.call.answer.take();
        }
        if let (Some(_), Some(turn)) = (fault, &session.turn) {
            turn.has_broken();
        }
        if let Some(recorder) = &session.recorder {
            let call = RecordedCall { arguments: log.arguments.made(), ..log.call.clone() };
            recorder.keep(call, log.unrecorded.clone().or_else(|| log.files.used()));
        }
    }
}

/// A result as the answers of imports are written.
fn plain_result(mut answer: Value) -> Value {
    let is_result = answer.as_object().is_some_and(|answer| answer.len() == 1);
    for (rust, plain) in [("Ok", "ok"), ("Err", "error")] {
        if let Some(value) = answer.get_mut(rust).filter(|_| is_result) {
            return serde_json::json!({ plain: value.take() });
        }
    }
    answer
}
