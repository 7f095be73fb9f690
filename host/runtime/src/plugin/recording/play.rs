//! Plays a recorded call back.

use super::{CallRecording, ImportCall, Log, RecordedCall, Session};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A recorded call that is made again, once.
#[derive(Clone)]
pub struct Playback {
    session: Arc<Session>,
    has_begun: Arc<AtomicBool>,
}

impl Playback {
    /// Plays that call.
    pub fn new(recorded: &RecordedCall) -> Self {
        let RecordedCall { plugin, call, imports, clock, random, .. } = recorded;
        let log = Log { call: RecordedCall::new(plugin, call, random.clone()), unrecorded: None };
        let expected = Expected { imports: imports.clone(), clock: clock.clone(), is_used: vec![false; imports.len()] };
        let session = Session { log: Mutex::new(log), expected: Some(Mutex::new(expected)), recorder: None };
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
        self.has_begun.load(Ordering::Relaxed).then(|| self.session.log.lock().call.clone())
    }
}

/// The answers that are left.
pub(super) struct Expected {
    imports: Vec<ImportCall>,
    is_used: Vec<bool>,
    clock: Vec<f64>,
}

impl Expected {
    /// That of the first call with the same arguments; else that of the first one of the same function, so that a call that
    /// has changed is followed to its end.
    pub(super) fn answer(&mut self, function: &str, arguments: &[Value]) -> Option<Value> {
        let open = || (0..self.imports.len()).filter(|at| !self.is_used[*at] && self.imports[*at].function == function);
        let at = open().find(|at| self.imports[*at].arguments == arguments).or_else(|| open().next())?;
        self.is_used[at] = true;
        Some(self.imports[at].answer.clone())
    }

    /// The next time; the last one again where the clock is asked more often.
    pub(super) fn clock(&mut self, now: f64) -> f64 {
        match self.clock.len() {
            0 => now,
            1 => self.clock[0],
            _ => self.clock.remove(0),
        }
    }
}
