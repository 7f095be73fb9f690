//! Texts of a tape for a terminal: escaped, folded, cut. What stands on a tape was written by anybody, and a terminal
//! obeys what it is sent.

use crate::tape::json;
use unicode_width::UnicodeWidthChar;

pub(super) use crate::wording::{bytes, count};

/// How wide a line may be. Narrow enough for every terminal, so that nobody has to be asked.
pub(in crate::cli) const WIDTH: usize = 80;

/// Whether a terminal would do something other than show the character in its place: control characters, and those that
/// turn the direction of a line.
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text on one line, with nothing in it that a terminal would obey.
pub(in crate::cli) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => line.push(' '),
            character if is_obeyed(character) => line.extend(character.escape_unicode()),
            character => line.push(character),
        }
    }
    line
}

/// JSON with every character escaped that a terminal would obey. It means the same: such characters stand in its strings
/// only.
pub(in crate::cli) fn json_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match is_obeyed(character) {
            true => {
                character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| line.push_str(&format!("\\u{unit:04x}")))
            }
            false => line.push(character),
        }
    }
    line
}

/// JSON for people and scripts, with every character escaped that a terminal would obey.
pub(in crate::cli) fn json(value: &serde_json::Value) -> String {
    // Line breaks stand between values alone: within strings they are escaped.
    format!("{value:#}").lines().map(json_line).collect::<Vec<_>>().join("\n")
}

/// How many columns a character takes.
fn columns(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// How many columns a text takes that holds nothing that a terminal would obey.
pub(in crate::cli) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The text on one line, cut to so many columns; a cut shows.
pub(in crate::cli) fn cut(text: &str, most: usize) -> String {
    let text = line(text);
    if width(&text) <= most {
        return text;
    }
    let mut left = most.saturating_sub(1);
    let fits = text.chars().take_while(|character| {
        let columns = columns(*character);
        let fits = columns <= left;
        left = left.saturating_sub(columns);
        fits
    });
    let mut cut: String = fits.collect();
    cut.push('…');
    cut
}

/// The text in lines of at most `most` columns, cut at spaces where there are any.
pub(in crate::cli) fn fold(text: &str, most: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    text.trim_end().split('\n').flat_map(|paragraph| fold_line(&line(paragraph), most)).collect()
}

fn fold_line(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim_end();
    loop {
        let (mut used, mut end, mut space) = (0, rest.len(), None);
        for (at, character) in rest.char_indices() {
            used += columns(character);
            if used > most {
                end = at;
                break;
            }
            if character == ' ' && at > 0 {
                space = Some(at);
            }
        }
        if end < rest.len() {
            let next_is_space = rest.get(end..).is_some_and(|rest| rest.starts_with(' '));
            // A space that only stands in front of the first word parts nothing.
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

/// A date as it is read by people: to the second.
pub(super) fn date(date: &str) -> String {
    cut(&date.chars().take(19).collect::<String>().replacen('T', " ", 1), 19)
}

/// A JSON value for people: a string as its text, anything else as JSON.
pub(super) fn value(value: &str) -> String {
    json::string(value).unwrap_or_else(|| value.to_owned())
}
