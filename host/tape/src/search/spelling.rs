//! Escapes in the JSON of a tape.

use std::borrow::Cow;

use regex::bytes::{Regex, RegexBuilder};

use super::super::error::{Error, Result};
use super::super::json;

/// Whether a JSON text has the canonical escapes of this program and Bub: only where JSON requires one, and the short
/// form. Otherwise its content may not occur literally.
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

/// The JSON text with canonical escapes.
pub(super) fn plain(json: &str) -> Cow<'_, str> {
    if is_plain(json.as_bytes()) {
        return Cow::Borrowed(json);
    }
    json::reprint(json).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// A pattern to find in JSON, ignoring case.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// A literal text.
    pub(super) fn literal(text: &str) -> Result<Self> {
        Self::new(&escaped(text))
    }

    /// Consecutive words, separated by any white space.
    pub(super) fn phrase(words: &[&str]) -> Result<Self> {
        let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
        Self::new(&words.join(r"(?:\s|\\[nrtf])+"))
    }

    fn new(expression: &str) -> Result<Self> {
        let regex = RegexBuilder::new(expression).case_insensitive(true).build();
        // Unreachable with bounded texts, unless the library lowers its limits.
        regex.map(Self).map_err(|_| Error::invalid("this text is too long to search for: give fewer words"))
    }

    /// Whether it may occur in the bytes of a line. A match inside an escape counts, and is checked later.
    pub(super) fn may_stand_in(&self, line: &[u8]) -> bool {
        self.0.is_match(line)
    }

    /// Whether it occurs in a [`plain`] JSON text.
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

/// The regular expression for a text in JSON.
fn escaped(text: &str) -> String {
    let quoted = json::quote(text);
    let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    regex::escape(inside.unwrap_or_default())
}

/// Whether `at` is inside an escape: `nothing` does not occur in `\nothing`.
fn splits_escape(json: &[u8], at: usize) -> bool {
    // A backslash that is itself escaped begins no escape.
    let begun = |end: usize| {
        let before = json.get(..end).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    let digits_of = |behind_u: usize| at.checked_sub(behind_u).is_some_and(|u| json.get(u) == Some(&b'u') && begun(u));
    begun(at) || (1..=4).any(digits_of)
}
