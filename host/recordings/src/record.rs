//! A turn as it was collected.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value that several calls have in common, kept once.
pub type Shared = Arc<Value>;

/// A turn that has ended.
#[derive(Debug, Clone, Default)]
pub struct TurnRecord {
    /// The folder of the recording: the name of the session's tape.
    pub folder: String,
    /// The session.
    pub session: String,
    /// The ids of its model calls, as in the meta of entries on the tape.
    pub runs: Vec<String>,
    /// When the turn began, in milliseconds since 1970.
    pub started_ms: i64,
    /// Why the turn failed, if it did.
    pub failure: Option<String>,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallRecord>,
    /// Further values, by name.
    pub objects: BTreeMap<String, Value>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It returned a value.
    #[default]
    Returned,
    /// It broke.
    Fault,
    /// It was cancelled, or still ran when the turn was written.
    Cancelled,
}

/// A call of a plugin.
#[derive(Debug, Clone, Default)]
pub struct CallRecord {
    /// The plugin.
    pub plugin: String,
    /// SHA-256 of its component, in hex.
    pub component: String,
    /// The export, by the name of its hook.
    pub hook: String,
    /// The plugin's settings: its table of the configuration as `config`, and its `limits`.
    pub config: Shared,
    /// The turn as hooks saw it; null outside of a turn.
    pub turn: Shared,
    /// What it was given, without handles.
    pub arguments: Value,
    /// How it ended.
    pub ended: Ended,
    /// What it returned; of a call that the host ended with a fault, what was wrong with it.
    pub answer: Option<Value>,
    /// Why it returned nothing: the name of the fault, and its message.
    pub fault: Option<(String, String)>,
    /// The calls of imports, in order.
    pub imports: Vec<ImportRecord>,
    /// The readings of the wall clock, in seconds since 1970.
    pub clock: Vec<f64>,
    /// The readings of the monotonic clock, in nanoseconds.
    pub monotonic: Vec<u64>,
    /// The seed of random numbers, in hex.
    pub random: String,
    /// Files as the call found them; null if it used none.
    pub files: Value,
    /// The instance that it ran in, if another call of the turn may have run in it too.
    pub instance: Option<u64>,
    /// The index of the call that it is part of.
    pub parent: Option<u64>,
    /// Fuel that it used.
    pub fuel: u64,
    /// Memory that its instance held at the end, in bytes.
    pub memory: u64,
    /// Why it cannot be made again, if it cannot.
    pub unrecorded: Option<String>,
}

/// A call of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRecord {
    /// Interface and function, as in `bub:plugin/config.get`.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// What it returned.
    pub answer: Value,
}
