//! The second line of a file: the calls of a turn, and the digests of their values.

use super::record::Ended;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A turn, with the digests of its values. A later program may add keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`crate::FORMAT`].
    pub format: u32,
    /// The version of the program that recorded it.
    pub program: String,
    /// The name of the session's tape.
    pub folder: String,
    /// The session.
    pub session: String,
    /// The ids of its model calls.
    #[serde(default)]
    pub runs: Vec<String>,
    /// When the turn began, in milliseconds since 1970.
    pub started_ms: i64,
    /// Why the turn failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallRow>,
    /// Further values, by name.
    #[serde(default)]
    pub objects: BTreeMap<String, String>,
}

/// A call. Values stand as digests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// The plugin.
    pub plugin: String,
    /// SHA-256 of its component.
    pub component: String,
    /// The export.
    pub hook: String,
    /// The plugin's settings: its configuration, and its limits.
    pub config: String,
    /// The turn as hooks saw it.
    pub turn: String,
    /// What it was given.
    pub arguments: String,
    /// How it ended.
    pub ended: Ended,
    /// What it returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The name of the fault, and its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<(String, String)>,
    /// The calls of imports.
    pub imports: String,
    /// Clocks and chance.
    pub ambient: String,
    /// Files as the call found them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// The instance that it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<u64>,
    /// The index of the call that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Fuel that it used.
    pub fuel: u64,
    /// Memory that its instance held at the end, in bytes.
    pub memory: u64,
    /// Why it cannot be made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
}
