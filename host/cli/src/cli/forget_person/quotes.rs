//! Finds what a person has said in texts of others: whole lines, and parts of long ones.

use aho_corasick::AhoCorasick;
use anyhow::{Context, Result};
use bub_tape::Entry;
use serde_json::Value;
use std::collections::BTreeSet;

/// The length of the parts that are looked for, in bytes: shorter ones stand in what others say, too.
const PART: usize = 24;

/// The shortest line that is looked for in what is no one's message, in bytes.
const SHORT: usize = 8;

/// Parts that are looked for, at most. Of more, the first of the order of letters.
const MAX_PARTS: usize = 100_000;

/// How deep JSON is looked for in strings of JSON.
const MAX_DEPTH: usize = 4;

/// What a person has said, as it may be quoted. Case is ignored.
pub(super) struct Quotes {
    /// Parts of at least [`PART`] bytes, and lines of the memory.
    long: Option<AhoCorasick>,
    /// Whole lines of at least [`SHORT`] bytes, and the parts.
    any: Option<AhoCorasick>,
}

impl Quotes {
    pub(super) fn new(texts: &[String], lines: &BTreeSet<String>) -> Result<Self> {
        let (mut long, mut short) = (BTreeSet::new(), BTreeSet::new());
        let lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        for line in lower.iter().flat_map(|text| text.lines()).map(str::trim) {
            if (SHORT..PART).contains(&line.len()) {
                short.insert(line.to_owned());
            }
            long.extend(starts(line).filter_map(|at| part(line, at)).map(str::to_owned));
        }
        let mut long: Vec<String> = long.into_iter().take(MAX_PARTS).collect();
        long.extend(lines.iter().map(|line| line.to_lowercase()).filter(|line| line.len() >= SHORT));
        let any: Vec<&String> = long.iter().chain(short.iter().take(MAX_PARTS)).collect();
        Ok(Self { any: matcher(&any)?, long: matcher(&long.iter().collect::<Vec<_>>())? })
    }

    /// Whether an entry of another turn quotes the person.
    pub(super) fn stand_in(&self, entry: &Entry) -> bool {
        in_json(self.long.as_ref(), &entry.payload)
    }

    /// Whether something that is no one's message, such as a system prompt, holds their words.
    pub(super) fn stand_in_derived(&self, entry: &Entry) -> bool {
        in_json(self.any.as_ref(), &entry.payload)
    }

    /// Whether a line or a file holds their words.
    pub(super) fn stand_in_text(&self, text: &str) -> bool {
        in_text(self.any.as_ref(), text)
    }

    /// Whether a line of the memory, which another may have written, quotes the person.
    pub(super) fn stand_in_line(&self, line: &str) -> bool {
        in_text(self.long.as_ref(), line)
    }

    /// Whether JSON holds their words.
    pub(super) fn stand_in_json(&self, json: &str) -> bool {
        in_json(self.any.as_ref(), json)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.any.is_none()
    }
}

/// One search for all parts; none without parts.
fn matcher(parts: &[&String]) -> Result<Option<AhoCorasick>> {
    if parts.is_empty() {
        return Ok(None);
    }
    let built = AhoCorasick::new(parts).context("the person has said too much to be looked for at once")?;
    Ok(Some(built))
}

fn in_text(matcher: Option<&AhoCorasick>, text: &str) -> bool {
    matcher.is_some_and(|matcher| matcher.is_match(&text.to_lowercase()))
}

fn in_json(matcher: Option<&AhoCorasick>, json: &str) -> bool {
    matcher.is_some() && serde_json::from_str(json).is_ok_and(|value: Value| in_value(matcher, &value, 0))
}

/// Whether a string of it holds a part, also in JSON within a string, such as the arguments of a call.
fn in_value(matcher: Option<&AhoCorasick>, value: &Value, depth: usize) -> bool {
    match value {
        Value::String(text) => {
            let is_json = depth < MAX_DEPTH && text.trim_start().starts_with(['{', '[', '"']);
            in_text(matcher, text)
                || (is_json
                    && serde_json::from_str(text).is_ok_and(|value: Value| in_value(matcher, &value, depth + 1)))
        }
        Value::Array(items) => items.iter().any(|item| in_value(matcher, item, depth)),
        Value::Object(fields) => fields.values().any(|item| in_value(matcher, item, depth)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
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
