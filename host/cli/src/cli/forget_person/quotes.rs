//! Finds what a person has said in texts of others: whole lines, and parts of long ones.

use bub_tape::{Entry, Words};
use std::collections::BTreeSet;

/// The length of the parts that are looked for, in bytes: shorter ones stand in what others say, too.
const PART: usize = 24;

/// The shortest line that is looked for in what is no one's message, in bytes.
const SHORT: usize = 8;

/// Parts that are looked for, at most. Of more, those of the beginnings of lines come first.
const MAX_PARTS: usize = 20_000;

/// What a person has said, as it may be quoted.
pub(super) struct Quotes {
    /// Parts of at least [`PART`] bytes.
    long: Words,
    /// Whole lines of at least [`SHORT`] bytes, and the parts.
    any: Words,
}

impl Quotes {
    pub(super) fn new(texts: &[String], lines: &BTreeSet<String>) -> Self {
        let (mut parts, mut whole) = (BTreeSet::new(), BTreeSet::new());
        for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
            if (SHORT..PART).contains(&line.len()) {
                whole.insert(line.to_owned());
            }
            for at in starts(line) {
                if let Some(part) = part(line, at).filter(|_| parts.len() < MAX_PARTS) {
                    parts.insert(part.to_owned());
                }
            }
        }
        let lines = lines.iter().filter(|line| line.len() >= SHORT);
        let long: Vec<&str> = parts.iter().chain(lines).map(String::as_str).collect();
        let any = long.iter().copied().chain(whole.iter().map(String::as_str));
        Self { any: Words::new(any), long: Words::new(long.iter().copied()) }
    }

    /// Whether an entry of another turn quotes the person.
    pub(super) fn stand_in(&self, entry: &Entry) -> bool {
        self.long.stand_in(entry)
    }

    /// Whether something that is no one's message, such as a system prompt, holds their words.
    pub(super) fn stand_in_derived(&self, entry: &Entry) -> bool {
        self.any.stand_in(entry)
    }

    /// Whether a line or a file holds their words.
    pub(super) fn stand_in_text(&self, text: &str) -> bool {
        self.any.stand_in_text(text)
    }

    /// Whether JSON holds their words.
    pub(super) fn stand_in_json(&self, json: &str) -> bool {
        self.any.stand_in_json(json)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.any.is_empty()
    }
}

/// Where words of a line begin.
fn starts(line: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = line.as_bytes();
    (0..bytes.len()).filter(move |at| line.is_char_boundary(*at) && (*at == 0 || bytes[at - 1] == b' '))
}

/// The part of a line from there on that is long enough.
fn part(line: &str, at: usize) -> Option<&str> {
    let end = at + PART;
    if end > line.len() {
        return None;
    }
    let end = (end..=line.len()).find(|end| line.is_char_boundary(*end))?;
    line.get(at..end)
}
