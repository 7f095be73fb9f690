//! JSON that comes from a guest, checked where it enters.

use bub_model::RawObject;
use bub_tape::json::Bounds;

/// How deep guests may nest JSON. A parser that recurses would otherwise be at the mercy of `[[[[`.
const MAX_DEPTH: usize = 64;

/// Whether `text` is one JSON value, nested at most 64 deep.
///
/// # Errors
///
/// The text is invalid. The error describes the problem, fit for an error message.
pub fn check(text: &str) -> Result<(), String> {
    check_depth(text)?;
    serde_json::from_str::<&serde_json::value::RawValue>(text).map(drop).map_err(|error| format!("no JSON: {error}"))
}

/// The object in a text that [`check`] accepts.
///
/// # Errors
///
/// The same as there, and that it is none.
pub fn object(text: &str) -> Result<RawObject, String> {
    check_depth(text)?;
    RawObject::new(text).map_err(|error| error.message)
}

/// Parses what [`check`] accepts.
pub fn parse(text: &str) -> Result<serde_json::Value, String> {
    check_depth(text)?;
    serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))
}

/// A scan before the parser sees the text, because the parser recurses.
pub(super) fn check_depth(text: &str) -> Result<(), String> {
    // A text with so few brackets, wherever they stand, cannot nest deeper; most texts have few, and counting them is
    // quick.
    if text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() <= MAX_DEPTH {
        return Ok(());
    }
    Bounds::depth(MAX_DEPTH).check(text.as_bytes()).map_err(|exceeded| exceeded.to_string())
}
