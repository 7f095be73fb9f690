//! A recorded call, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The layout of [`RecordedCall`].
pub const FORMAT: u32 = 1;

/// A call with all that it was given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

impl RecordedCall {
    pub(super) fn new(plugin: &str, call: &str, random: String) -> Self {
        Self { format: FORMAT, plugin: plugin.to_owned(), call: call.to_owned(), random, ..Self::default() }
    }
}

impl ImportCall {
    /// About how many bytes it holds.
    pub(super) fn weight(&self) -> usize {
        self.arguments.iter().map(weight).sum::<usize>() + weight(&self.answer) + 64
    }
}

/// About how many bytes a value holds.
pub(super) fn weight(value: &Value) -> usize {
    32 + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 0,
    }
}
