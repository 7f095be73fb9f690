//! How characters are spelled in the JSON of a tape.

use std::borrow::Cow;

use regex::bytes::{Regex, RegexBuilder};

use super::super::error::{Error, Result};
use super::super::json;

/// Whether a JSON text spells every character as this program and Bub do: an escape only where JSON needs one, and then
/// the short one. Otherwise a text that stands in it may not stand there literally.
pub(super) fn is_plain(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let behind = rest.get(at + 1..).unwrap_or_default();
        let escape = match behind {
            [b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f', ..] => 1,
            [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
            | [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => 5,
            _ => return false,
        };
        rest = behind.get(escape..).unwrap_or_default();
    }
    true
}

/// The JSON text, with every character spelled as this program does.
pub(super) fn plain(json: &str) -> Cow<'_, str> {
    if is_plain(json.as_bytes()) {
        return Cow::Borrowed(json);
    }
    json::reprint(json).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// A text to be found in JSON, upper or lower case alike.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// A text that stands there as it is.
    pub(super) fn literal(text: &str) -> Result<Self> {
        Self::new(&escaped(text))
    }

    /// Words that stand behind each other, with any white space between them.
    pub(super) fn phrase(words: &[&str]) -> Result<Self> {
        let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
        Self::new(&words.join(r"(?:\s|\\[nrtf])+"))
    }

    fn new(expression: &str) -> Result<Self> {
        let regex = RegexBuilder::new(expression).case_insensitive(true).build();
        // Texts are bounded, so this is for a library that changes its mind.
        regex.map(Self).map_err(|_| Error::invalid("this text is too long to search for: give fewer words"))
    }

    /// Whether it may stand in the bytes of a line. One that stands in an escape counts, which costs a closer look.
    pub(super) fn may_stand_in(&self, line: &[u8]) -> bool {
        self.0.is_match(line)
    }

    /// Whether it stands in a JSON text that is [`plain`].
    pub(super) fn stands_in(&self, json: &str) -> bool {
        let json = json.as_bytes();
        let mut at = 0;
        while let Some(found) = self.0.find_at(json, at) {
            if !splits_escape(json, found.start()) {
                return true;
            }
            at = found.start() + 1;
        }
        false
    }
}

/// The expression for a text as JSON spells it.
fn escaped(text: &str) -> String {
    let quoted = json::quote(text);
    let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    regex::escape(inside.unwrap_or_default())
}

/// Whether `at` lies inside an escape: `nothing` does not stand in `\nothing`.
fn splits_escape(json: &[u8], at: usize) -> bool {
    // A backslash that is itself escaped begins no escape.
    let begun = |end: usize| {
        let before = json.get(..end).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    let digits_of = |behind_u: usize| at.checked_sub(behind_u).is_some_and(|u| json.get(u) == Some(&b'u') && begun(u));
    begun(at) || (1..=4).any(digits_of)
}
