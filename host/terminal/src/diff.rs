//! The difference between two texts, for a terminal.

use super::style::Style;
use super::text;
use imara_diff::{Algorithm, Diff, InternedInput, Token};
use std::ops::Range;

/// Context lines around each change.
const CONTEXT: u32 = 2;

/// The removed and added lines with context, in lines of at most `width` columns, with control characters escaped.
pub fn lines(old: &str, new: &str, width: usize, style: Style) -> Vec<String> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let shown = |mark: char, tokens: &[Token], range: Range<u32>| -> Vec<String> {
        let tokens = tokens.get(range.start as usize..range.end as usize).unwrap_or_default();
        let parts = tokens.iter().flat_map(|token| {
            text::fold(input.interner[*token].trim_end_matches(['\n', '\r']), width.saturating_sub(2))
        });
        parts
            .map(|part| match mark {
                '-' => style.red(format!("- {part}")),
                '+' => style.green(format!("+ {part}")),
                _ => style.dim(format!("  {part}")),
            })
            .collect()
    };
    let mut lines = Vec::new();
    let mut end = None;
    for hunk in diff.hunks() {
        let before = hunk.before.start.saturating_sub(CONTEXT);
        match end {
            Some(end) if end + CONTEXT < before => {
                lines.extend(shown(' ', &input.before, end..end + CONTEXT));
                lines.push(style.dim("  …"));
                lines.extend(shown(' ', &input.before, before..hunk.before.start));
            }
            _ => lines.extend(shown(' ', &input.before, end.unwrap_or(before)..hunk.before.start)),
        }
        lines.extend(shown('-', &input.before, hunk.before.clone()));
        lines.extend(shown('+', &input.after, hunk.after.clone()));
        end = Some(hunk.before.end);
    }
    if let Some(end) = end {
        let all = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
        lines.extend(shown(' ', &input.before, end..all.min(end + CONTEXT)));
    }
    lines
}
