//! Replacement of text.

use crate::place::Place;
use bub_guest::Error;

/// Maximum lines that are compared with a text that was not found.
const MAX_COMPARED: usize = 20_000;
/// Maximum characters of a line that are compared and shown.
const LONGEST_SHOWN: usize = 160;
/// Maximum lines that are shown.
const MAX_SHOWN: usize = 3;
/// The similarity, of 1, from which on lines are suggested.
const LIKE: f64 = 0.5;

/// The result.
#[derive(Debug, PartialEq, Eq)]
pub struct Done {
    pub text: String,
    /// Number of replacements.
    pub places: usize,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum Miss {
    /// With the most similar lines, numbered from 0.
    NotFound { old: String, nearest: Vec<(u64, String)> },
    /// The result would exceed this many bytes.
    TooLarge(usize),
}

/// Checks that do not need the file.
///
/// # Errors
///
/// A message for the caller.
pub fn check(old: &str, new: &str) -> Result<(), String> {
    if old.is_empty() {
        return Err("`old` is empty: name the text to replace, or write the whole file with `fs_write`".to_owned());
    }
    if old == new {
        return Err("`old` and `new` are the same: nothing would change".to_owned());
    }
    Ok(())
}

/// Replaces every `old` that begins at line `start` or later. Everything else is unchanged. If the file's lines end
/// with `\r\n`, both texts are converted to these line ends.
///
/// # Errors
///
/// [`Miss`].
pub fn replace(text: &str, old: &str, new: &str, start: u64, max: usize) -> Result<Done, Miss> {
    let (head, tail) = text.split_at(line_start(text, start));
    let ends_crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    let (old_ends, new_ends) = (with_crlf(old), with_crlf(new));
    let (sought, by) = match ends_crlf {
        _ if tail.contains(old) => (old, if ends_crlf { new_ends.as_str() } else { new }),
        true if tail.contains(&old_ends) => (old_ends.as_str(), new_ends.as_str()),
        _ => return Err(Miss::NotFound { old: shown(old), nearest: nearest(tail, old, start) }),
    };
    let places = tail.matches(sought).count();
    let grown = by.len().saturating_mul(places).saturating_add(text.len()).saturating_sub(sought.len() * places);
    if grown > max {
        return Err(Miss::TooLarge(max));
    }
    Ok(Done { text: format!("{head}{}", tail.replace(sought, by)), places })
}

impl Miss {
    /// A message for the caller, with a remedy.
    pub fn into_error(self, place: &Place, start: u64) -> Error {
        let message = match self {
            Miss::TooLarge(max) => {
                format!("`{}` would have more than {} MiB; nothing was changed", place.shown, max >> 20)
            }
            Miss::NotFound { old, nearest } => {
                let mut message = format!("'{old}' not found in {} from line {start}", place.shown);
                if !nearest.is_empty() {
                    message.push_str("\nthe nearest lines, counted from 0:");
                    nearest.iter().for_each(|(number, line)| message.push_str(&format!("\n{number}: {line}")));
                }
                message
            }
        };
        Error::invalid(message)
    }
}

/// The offset of that line; the end if there are fewer.
fn line_start(text: &str, line: u64) -> usize {
    let Some(before) = line.checked_sub(1) else { return 0 };
    let before = usize::try_from(before).unwrap_or(usize::MAX);
    text.match_indices('\n').nth(before).map_or(text.len(), |(at, _)| at + 1)
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The lines most similar to the first line of `old`, most similar first.
fn nearest(tail: &str, old: &str, start: u64) -> Vec<(u64, String)> {
    let wanted = shown(old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default());
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(f64, u64, String)> = (0..)
        .zip(tail.lines().take(MAX_COMPARED))
        .filter_map(|(behind, line): (u64, _)| {
            // A model may write any number.
            let number = start.saturating_add(behind);
            let line = shown(line);
            // A line that equals it except for surrounding white space has the highest similarity.
            let likeness = match line.trim() {
                "" => 0.0,
                line if line.contains(&wanted) => 1.0,
                line => strsim::sorensen_dice(line, &wanted),
            };
            (likeness >= LIKE).then_some((likeness, number, line))
        })
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().take(MAX_SHOWN).map(|(_, number, line)| (number, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, old: &str, new: &str, start: u64) -> Option<(String, usize)> {
        replace(text, old, new, start, 1000).ok().map(|done| (done.text, done.places))
    }

    #[test]
    fn every_place_from_the_line_on_is_replaced_and_all_else_stays() {
        for (before, old, new, start, after, places) in [
            ("l1\nl2 old\nl3", "old", "new", 0, "l1\nl2 new\nl3", 1),
            ("a\na\na\n", "a", "b", 1, "a\nb\nb\n", 2),
            ("a\n\n", "a", "", 0, "\n\n", 1),
            ("x\r\ny\r\n", "x\ny", "1\n2", 0, "1\r\n2\r\n", 1),
            ("x\r\ny\r\n", "x\r\ny", "1\r\n2", 0, "1\r\n2\r\n", 1),
            ("x\r\ny\r\n", "y", "2\n3", 0, "x\r\n2\r\n3\r\n", 1),
            ("x\ny\r\n", "x", "1\n2", 0, "1\n2\ny\r\n", 1),
            ("ä\nö", "ö", "ü", 1, "ä\nü", 1),
        ] {
            assert_eq!(text(before, old, new, start), Some((after.to_owned(), places)), "{before:?}");
        }
        assert_eq!(text("l1\nl2", "l1", "x", 1), None);
        assert_eq!(text("l1", "l1", "x", u64::MAX), None);
    }

    #[test]
    fn a_miss_shows_the_nearest_lines() {
        let source = "fn main() {\n    let total = count(items);\n}\n";
        let miss = replace(source, "let totals = count(items);", "x", 0, 1000).unwrap_err();
        let Miss::NotFound { nearest, .. } = &miss else { panic!("{miss:?}") };
        assert_eq!(nearest[0], (1, "    let total = count(items);".to_owned()));
        let place = Place::of("/ws", "a.rs").unwrap();
        let message = miss.into_error(&place, 0).message;
        assert!(message.starts_with("'let totals = count(items);' not found in /ws/a.rs from line 0\n"), "{message}");
    }

    #[test]
    fn an_edit_that_would_exceed_the_limit_is_not_started() {
        assert_eq!(replace("aaaa", "a", "bbbb", 0, 15), Err(Miss::TooLarge(15)));
        assert!(replace("aaaa", "a", "bbbb", 0, 16).is_ok());
    }

    #[test]
    fn an_edit_without_a_change_is_rejected() {
        assert!(check("", "a").is_err() && check("a", "a").is_err() && check("a", "").is_ok());
    }
}
