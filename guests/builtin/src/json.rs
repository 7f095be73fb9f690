//! JSON that comes from the host.

use serde_json::Value;

/// The value of a text. The host hands over JSON only; should a text be none, it stands for itself.
pub fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
