//! Keeps the calls of a plugin.

use super::{CallRecording, FORMAT, Log, RecordedCall, Session};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
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

    pub(super) fn begin(&self, plugin: &str, call: &str) -> CallRecording {
        if *plugin != *self.plugin {
            return CallRecording::default();
        }
        let log = Log { call: RecordedCall::new(plugin, call, seed()), unrecorded: None };
        let session = Session { log: Mutex::new(log), expected: None, recorder: Some(self.clone()) };
        CallRecording(Some(Arc::new(session)))
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

impl RecordedCall {
    pub(super) fn new(plugin: &str, call: &str, random: String) -> Self {
        Self {
            format: FORMAT,
            plugin: plugin.to_owned(),
            call: call.to_owned(),
            arguments: Value::Null,
            answer: None,
            fault: None,
            imports: Vec::new(),
            clock: Vec::new(),
            random,
            config: Map::new(),
            turn: Value::Null,
        }
    }
}

/// Random bytes in hex.
fn seed() -> String {
    let mut bytes = [0_u8; 16];
    // Without the device random numbers are the same in each recorded call.
    let _ = File::open("/dev/urandom").and_then(|mut device| device.read_exact(&mut bytes));
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
