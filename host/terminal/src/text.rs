//! Texts for a terminal: escaped, folded, cut. The text of a tape is untrusted, and could control the terminal.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use bub_tape::entry_text::value;
pub use bub_types::text::{bytes, count, json_line, line};

/// The width of a line, narrow enough for every terminal.
pub const WIDTH: usize = 80;

/// The least number of bytes that are read of a text that is cut.
const MIN_SCANNED: usize = 4096;

/// Formatted JSON with control characters escaped.
pub fn json(value: &serde_json::Value) -> String {
    // Line breaks occur between values only: in strings they are escaped.
    format!("{value:#}").lines().map(json_line).collect::<Vec<_>>().join("\n")
}

/// The columns of a grapheme cluster, at most: terminals that know an emoji sequence give it two, others show each part.
fn columns(cluster: &str) -> usize {
    cluster.chars().map(|character| character.width().unwrap_or(0)).sum::<usize>().max(cluster.width())
}

/// The columns of an escaped text, at most.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(columns).sum()
}

/// The text on one line, cut to that many columns between grapheme clusters, with a mark.
pub fn cut(text: &str, most: usize) -> String {
    // Each cluster takes at least one column, so the rest need not be read.
    let begun = text.get(..text.floor_char_boundary(MIN_SCANNED.max(most.saturating_mul(64)))).unwrap_or(text);
    let shown = line(begun);
    if begun.len() == text.len() && width(&shown) <= most {
        return shown;
    }
    let mut left = most.saturating_sub(1);
    let mut cut = String::new();
    for cluster in shown.graphemes(true) {
        match left.checked_sub(columns(cluster)) {
            Some(rest) => left = rest,
            None => break,
        }
        cut.push_str(cluster);
    }
    cut.push('…');
    cut
}

/// The text on one line of exactly that many columns: cut, or padded with spaces.
pub fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    // By the widths of current terminals.
    let room = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(room))
}

/// The text in lines of at most `most` columns, broken at spaces if possible.
pub fn fold(text: &str, most: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    text.trim_end().split('\n').flat_map(|paragraph| fold_line(&line(paragraph), most)).collect()
}

fn fold_line(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim_end();
    loop {
        let (mut used, mut end, mut space) = (0, rest.len(), None);
        for (at, cluster) in rest.grapheme_indices(true) {
            used += columns(cluster);
            if used > most && at > 0 {
                end = at;
                break;
            }
            if cluster == " " && at > 0 {
                space = Some(at);
            }
        }
        if end < rest.len() {
            let next_is_space = rest.get(end..).is_some_and(|rest| rest.starts_with(' '));
            // Leading spaces do not separate words.
            let space = space.filter(|at| rest.get(..*at).is_some_and(|before| !before.trim().is_empty()));
            end = if next_is_space { end } else { space.unwrap_or(end) };
        }
        let (head, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        lines.push(head.trim_end().to_owned());
        rest = behind.trim_start();
        if rest.is_empty() {
            return lines;
        }
    }
}

/// An age in the largest full unit, from `just now` to days.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..172_800 => "1 day ago".to_owned(),
        _ => format!("{} days ago", (seconds / 86_400).min(99_999)),
    }
}

/// A date, to the second.
pub fn date(date: &str) -> String {
    cut(&date.chars().take(19).collect::<String>().replacen('T', " ", 1), 19)
}
