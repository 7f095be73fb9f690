//! Keeps the calls of a plugin.

use super::call::RecordedCall;
use super::{CallRecording, Log, Session};
use crate::plugin::loaded::Plugin;
use bub_types::text::hex;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The calls of a plugin, each sent to its receiver when it has ended.
#[derive(Clone)]
pub struct Recorder {
    plugin: Arc<str>,
    calls: Arc<Mutex<Sender<Recorded>>>,
}

/// A call that has ended, or the export that was called and why the call cannot be played back.
pub type Recorded = std::result::Result<Box<RecordedCall>, (String, String)>;

impl Recorder {
    /// Sends the calls of that plugin.
    pub fn new(plugin: &str, calls: Sender<Recorded>) -> Self {
        Self { plugin: plugin.into(), calls: Arc::new(Mutex::new(calls)) }
    }

    pub(super) fn is_for(&self, plugin: &str) -> bool {
        *plugin == *self.plugin
    }

    pub(super) fn begin(self, plugin: &Plugin, call: &str, turn: Value) -> CallRecording {
        let log = Log { call: self.call(plugin, call, turn), ..Log::default() };
        CallRecording(Some(Arc::new(Session {
            log: Mutex::new(log),
            expected: None,
            recorder: Some(self),
            turn: None,
        })))
    }

    /// The call as it begins, in that turn.
    pub(super) fn call(&self, plugin: &Plugin, call: &str, mut turn: Value) -> RecordedCall {
        local_parts(&mut turn);
        RecordedCall { config: plugin.config.clone(), turn, ..RecordedCall::new(&plugin.name, call, seed()) }
    }

    pub(super) fn keep(&self, call: RecordedCall, unrecorded: Option<String>) {
        let recorded = match unrecorded {
            Some(reason) => Err((call.call, reason)),
            None => Ok(Box::new(call)),
        };
        // The receiver may be gone.
        let _ = self.calls.lock().send(recorded);
    }
}

/// Removes values that a replay does not use, and those of this machine alone.
pub(super) fn local_parts(turn: &mut Value) {
    if let Some(turn) = turn.as_object_mut() {
        turn.remove("workspace");
        if let Some(state) = turn.get_mut("state").and_then(Value::as_object_mut) {
            state.retain(|key, _| !key.starts_with("_runtime"));
        }
    }
}

/// Random bytes in hex.
pub(super) fn seed() -> String {
    let mut bytes = [0_u8; 16];
    // Without the system's source random numbers are the same in each recorded call.
    let _ = getrandom::fill(&mut bytes);
    hex(&bytes)
}
