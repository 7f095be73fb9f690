//! JSON that comes from the host, and that goes there.

use serde_json::Value;

/// The value of a text. The host hands over JSON only; should a text be none, it stands for itself.
pub fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The text of a value. `Display` says the same, and takes twice as long over it.
pub fn text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| value.to_string())
}
