//! Texts for a terminal: escaped, folded, cut. The text of a tape is untrusted, and could control the terminal.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(in crate::cli) use bub_tape::entry_text::value;
pub(in crate::cli) use bub_types::text::{bytes, count, json_line, line};

/// The width of a line, narrow enough for every terminal.
pub(in crate::cli) const WIDTH: usize = 80;

/// The least number of bytes that are read of a text that is cut.
const MIN_SCANNED: usize = 4096;

/// Formatted JSON with control characters escaped.
pub(in crate::cli) fn json(value: &serde_json::Value) -> String {
    // Line breaks occur between values only: in strings they are escaped.
    format!("{value:#}").lines().map(json_line).collect::<Vec<_>>().join("\n")
}

/// The columns of a grapheme cluster, at most: terminals that know an emoji sequence give it two, others show each part.
fn columns(cluster: &str) -> usize {
    cluster.chars().map(|character| character.width().unwrap_or(0)).sum::<usize>().max(cluster.width())
}

/// The columns of an escaped text, at most.
pub(in crate::cli) fn width(text: &str) -> usize {
    text.graphemes(true).map(columns).sum()
}

/// The text on one line, cut to that many columns between grapheme clusters, with a mark.
pub(in crate::cli) fn cut(text: &str, most: usize) -> String {
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
pub(in crate::cli) fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    // By the widths of current terminals.
    let room = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(room))
}

/// The text in lines of at most `most` columns, broken at spaces if possible.
pub(in crate::cli) fn fold(text: &str, most: usize) -> Vec<String> {
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

/// A date, to the second.
pub(in crate::cli) fn date(date: &str) -> String {
    cut(&date.chars().take(19).collect::<String>().replacen('T', " ", 1), 19)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joiners_are_printed_where_a_text_needs_them() {
        for text in [
            "👨\u{200d}👩\u{200d}👧",
            "👩🏽\u{200d}🚀",
            "🏳\u{fe0f}\u{200d}🌈",
            "🧔\u{200d}♂\u{fe0f}",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "ệ e\u{302}\u{323} ก\u{e33} 1\u{fe0f}\u{20e3}",
        ] {
            assert_eq!(line(text), text);
            assert!(fold(text, 200).concat() == text && cut(text, 200) == text, "{text}");
        }
    }

    #[test]
    fn invisible_characters_that_join_nothing_are_escaped() {
        for (text, expected) in [
            ("pay\u{200d}pal", "pay\\u{200d}pal"),
            ("pay\u{200c}pal", "pay\\u{200c}pal"),
            ("\u{200d}👩", "\\u{200d}👩"),
            ("👩\u{200d}", "👩\\u{200d}"),
            ("👩\u{200d}\u{200d}🚀", "👩\\u{200d}\\u{200d}🚀"),
            ("👩\u{200c}🚀", "👩\\u{200c}🚀"),
            ("م\u{200c}a", "م\\u{200c}a"),
            ("a\u{e0061}b", "a\\u{e0061}b"),
            ("a\u{ad}b\u{3164}", "a\\u{ad}b\\u{3164}"),
            ("a\u{200b}\u{202e}\u{feff}\u{1b}", "a\\u{200b}\\u{202e}\\u{feff}\\u{1b}"),
        ] {
            assert_eq!(line(text), expected, "{text:?}");
        }
        let piled = format!("a{}", "\u{301}".repeat(5000));
        assert_eq!(line(&piled).matches('\u{301}').count(), 8);
    }

    #[test]
    fn a_cut_never_parts_a_picture_and_never_takes_more_columns_than_it_may() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let text = family.repeat(100);
        for most in 1..40 {
            let cut = cut(&text, most);
            assert!(width(&cut) <= most && !cut.trim_end_matches('…').ends_with('\u{200d}'), "{most}: {cut}");
            assert!(fold(&text, most).iter().all(|line| !line.starts_with('\u{200d}')), "{most}");
        }
        assert_eq!(padded("界", 4), "界  ");
        assert_eq!(cut(&"x".repeat(1 << 20), 10), "xxxxxxxxx…");
    }
}
