//! Envelopes that an earlier version of this program stored.

use bub_types::Envelope;
use serde_json::{Value, json};

/// Parses a stored envelope. One from before parts of a message had a provenance does not say which of its text was
/// quoted: all text of an inbound one counts as forwarded, so that its turn starts tainted and it is not a command.
///
/// # Errors
///
/// It is not an envelope of any version.
pub(super) fn envelope(text: &str, is_inbound: bool) -> serde_json::Result<Envelope> {
    let mut record: Value = serde_json::from_str(text)?;
    let Some(fields) = record.as_object_mut() else { return serde_json::from_value(record) };
    if !fields.contains_key("passages") {
        let mut passages = json!([]);
        if is_inbound {
            let text = fields.insert("content".to_owned(), json!("")).unwrap_or_default();
            passages = json!([{ "provenance": "Forwarded", "author": null, "text": text }]);
            fields.insert("kind".to_owned(), json!("Normal"));
        }
        fields.insert("passages".to_owned(), passages);
    }
    for item in fields.get_mut("media").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(item) = item.as_object_mut() {
            item.entry("provenance").or_insert_with(|| json!("Attached"));
        }
    }
    serde_json::from_value(record)
}
