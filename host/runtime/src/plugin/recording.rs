//! Records calls of a plugin with the answers of its imports, and plays them back against another build of it.
//!
//! A recorded call is data alone: what went in, each call of an import with its answer in order, and what came out. The
//! layer that serves imports passes every call through [`CallRecording`], which keeps the answer or gives the kept one.

mod play;
mod record;

pub use play::Playback;
pub use record::{Recorded, Recorder};

use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The layout of [`RecordedCall`].
pub const FORMAT: u32 = 1;

/// A call with all that it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCall {
    /// [`FORMAT`].
    pub format: u32,
    /// The plugin.
    pub plugin: String,
    /// The export that was called, by the name of its hook.
    pub call: String,
    /// Its arguments, without handles.
    pub arguments: Value,
    /// The value that the export returned; absent where it ended in a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Why it returned nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The calls of imports, in order.
    #[serde(default)]
    pub imports: Vec<ImportCall>,
    /// The readings of the wall clock, in seconds since 1970, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<f64>,
    /// The seed of random numbers, in hex.
    pub random: String,
    /// The plugin's table of the configuration.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// The turn as hooks saw it; null outside of a turn.
    #[serde(default)]
    pub turn: Value,
}

/// A call of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportCall {
    /// Interface and function, as in `bub:plugin/config.get`.
    pub function: String,
    /// Its arguments, handles as `(handle)`.
    pub arguments: Vec<Value>,
    /// The value that it returned.
    pub answer: Value,
}

/// The recordings or playbacks of a host; by default none.
#[derive(Default)]
pub struct Recordings(RwLock<Vec<Active>>);

/// One of both.
enum Active {
    Record(Recorder),
    Play(Playback),
}

impl Recordings {
    /// Records the calls of the recorder's plugin from now on.
    pub fn record(&self, recorder: Recorder) {
        self.0.write().push(Active::Record(recorder));
    }

    /// Answers the imports of the next such call of the plugin from a recording.
    pub fn play(&self, playback: Playback) {
        *self.0.write() = vec![Active::Play(playback)];
    }

    /// Whether calls are played back.
    pub fn is_playback(&self) -> bool {
        matches!(&**self.0.read(), [Active::Play(_)])
    }

    /// The recording or playback of a call that begins.
    pub fn begin(&self, plugin: &str, call: &str) -> CallRecording {
        let active = self.0.read();
        let begun = active.iter().map(|active| match active {
            Active::Record(recorder) => recorder.begin(plugin, call),
            Active::Play(playback) => playback.begin(plugin, call),
        });
        begun.into_iter().find(CallRecording::is_on).unwrap_or_default()
    }
}

/// The recording or playback of one call; by default neither.
#[derive(Clone, Default)]
pub struct CallRecording(Option<Arc<Session>>);

/// A call that is being recorded or played back.
struct Session {
    log: Mutex<Log>,
    /// Of a playback.
    expected: Option<Mutex<play::Expected>>,
    /// Takes the call when it has ended.
    recorder: Option<Recorder>,
}

/// The events of the call so far.
struct Log {
    call: RecordedCall,
    /// Why the call cannot be played back.
    unrecorded: Option<String>,
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

    /// Changes what is recorded, if anything is.
    fn log(&self, change: impl FnOnce(&mut Log)) {
        if let Some(session) = &self.0 {
            change(&mut session.log.lock());
        }
    }

    /// The call begins, in that turn.
    pub fn begins(&self, config: &Map<String, Value>, turn: impl FnOnce() -> Value) {
        self.log(|log| {
            (log.call.config, log.call.turn) = (config.clone(), turn());
            // Removes values that a replay does not use, and those of this machine alone.
            if let Some(turn) = log.call.turn.as_object_mut() {
                turn.remove("workspace");
                if let Some(state) = turn.get_mut("state").and_then(Value::as_object_mut) {
                    state.retain(|key, _| !key.starts_with("_runtime"));
                }
            }
        });
    }

    /// The arguments of the export.
    pub fn arguments(&self, arguments: &Value) {
        self.log(|log| log.call.arguments = arguments.clone());
    }

    /// Records the value that the export returned.
    pub fn answered(&self, answer: impl FnOnce() -> Value) {
        self.log(|log| {
            let mut answer = answer();
            let is_result = answer.as_object().is_some_and(|answer| answer.len() == 1);
            // As the answers of imports are written.
            for (rust, plain) in [("Ok", "ok"), ("Err", "error")] {
                if let Some(value) = answer.get_mut(rust).filter(|_| is_result) {
                    answer = serde_json::json!({ plain: value.take() });
                }
            }
            log.call.answer = Some(answer);
        });
    }

    /// An import was called.
    pub fn imported(&self, function: &str, arguments: Vec<Value>, answer: Value) {
        self.log(|log| log.call.imports.push(ImportCall { function: function.to_owned(), arguments, answer }));
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
        self.log(|log| log.call.clock.push(now));
        now
    }

    /// The seed of random numbers.
    pub fn random(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |session| session.log.lock().call.random.clone())
    }

    /// The call has ended, with a fault if there was one.
    pub fn ends(&self, fault: Option<&str>) {
        let Some(session) = &self.0 else { return };
        let mut log = session.log.lock();
        log.call.fault = fault.map(str::to_owned);
        if fault.is_some() {
            log.call.answer = None;
        }
        if let Some(recorder) = &session.recorder {
            recorder.keep(log.call.clone(), log.unrecorded.clone());
        }
    }
}
