//! The change that a tool made, as removed and added lines.

use super::super::style::Style;
use super::super::{diff, text};
use serde_json::Value;

/// Lines of a difference that are shown; the number of further ones follows.
const MAX_LINES: usize = 40;

/// The change of a call, in lines of at most `width` columns: the lines that an edit changes, or all lines of a file that
/// was written. Empty for other calls.
pub(super) fn lines(arguments: &str, width: usize, style: Style) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::super::super::style::Style;
    use super::{MAX_LINES, lines};
    use serde_json::json;

    #[test]
    fn a_long_change_is_cut_and_a_call_without_a_change_shows_nothing() {
        let style = Style::for_stdout();
        let write = json!({ "path": "a", "content": "x\n".repeat(100) }).to_string();
        let shown = lines(&write, 80, style);
        assert!(shown.len() == MAX_LINES + 1 && shown[MAX_LINES].contains("and 60 more lines"), "{shown:?}");
        assert!(lines(r#"{"path": "a"}"#, 80, style).is_empty() && lines("[", 80, style).is_empty());
    }
}
