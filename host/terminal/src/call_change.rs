//! The change that a tool made, as removed and added lines.

use super::style::Style;
use super::{diff, text};
use serde_json::Value;

/// Lines of a difference that are shown; the number of further ones follows.
pub const MAX_LINES: usize = 40;

/// The change of a call, in lines of at most `width` columns: the lines that an edit changes, or all lines of a file that
/// was written. Empty for other calls.
pub fn lines(arguments: &str, width: usize, style: Style) -> Vec<String> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else { return Vec::new() };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let (old, new) = match (text("path"), text("old"), text("new"), text("content")) {
        (Some(_), Some(old), Some(new), _) => (old, new),
        (Some(_), None, None, Some(content)) => ("", content),
        _ => return Vec::new(),
    };
    let mut lines = diff::lines(old, new, width, style);
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.truncate(MAX_LINES);
        lines.push(style.dim(format!("… and {}", text::count(more as u64, "more line", "more lines"))));
    }
    lines
}
