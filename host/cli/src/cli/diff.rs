//! The difference between two texts, for a terminal.

use super::style::Style;
use super::text;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::Duration;

/// Lines that are shown around each change.
const CONTEXT: usize = 2;

/// How long a difference may be looked for: beyond it a coarser one is shown.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The lines that go and come, with some of those around them, in lines of at most that many columns. Nothing of the texts
/// is obeyed by a terminal.
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
