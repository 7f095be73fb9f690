//! The difference between two texts, for a terminal.

use super::style::Style;
use super::text;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::Duration;

/// Context lines around each change.
const CONTEXT: usize = 2;

/// How long a minimal difference is searched for: after that, a coarser one is shown.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The removed and added lines with context, in lines of at most `width` columns, with control characters escaped.
pub(super) fn lines(old: &str, new: &str, width: usize, style: Style) -> Vec<String> {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).timeout(TIMEOUT).diff_lines(old, new);
    let mut lines = Vec::new();
    for (at, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if at > 0 {
            lines.push(style.dim("  …"));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            for part in text::fold(change.value().trim_end_matches(['\n', '\r']), width.saturating_sub(2)) {
                let line = format!("{mark} {part}");
                lines.push(match change.tag() {
                    ChangeTag::Delete => style.red(line),
                    ChangeTag::Insert => style.green(line),
                    ChangeTag::Equal => style.dim(line),
                });
            }
        }
    }
    lines
}
