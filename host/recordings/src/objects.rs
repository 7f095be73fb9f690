//! Values by their digests. A long string within a value is an object of its own, so that what several values say stands once.

use bub_types::text::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Strings of at least so many bytes are objects.
const LONG: usize = 256;

/// Bytes that are reserved for the text of a value without its long strings, at most.
const MAX_RESERVED: usize = 16 << 10;

/// The key of an object that stands for a string. No value of a plugin has it: they are folded only where it is absent.
const REFERENCE: &str = "\u{1}sha256";

/// SHA-256, in hex.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of a value, whatever the order of its keys.
pub fn digest_of(value: &Value) -> String {
    digest(canonical(value).as_bytes())
}

/// The value as compact JSON with sorted keys.
pub fn canonical(value: &Value) -> String {
    Text::of(value).text
}

/// A value as compact JSON with sorted keys, and where its long strings stand.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) text: String,
    long: Vec<Range<usize>>,
}

impl Text {
    pub(crate) fn of(value: &Value) -> Self {
        let mut text = Self::default();
        text.write(value);
        text
    }

    fn write(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
                pairs.sort_unstable_by_key(|(key, _)| *key);
                self.text.push('{');
                for (at, (key, value)) in pairs.into_iter().enumerate() {
                    if at > 0 {
                        self.text.push(',');
                    }
                    quote(key, &mut self.text);
                    self.text.push(':');
                    self.write(value);
                }
                self.text.push('}');
            }
            Value::Array(values) => {
                self.text.push('[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        self.text.push(',');
                    }
                    self.write(value);
                }
                self.text.push(']');
            }
            Value::String(text) => {
                let from = self.text.len();
                quote(text, &mut self.text);
                if text.len() >= LONG {
                    self.long.push(from..self.text.len());
                }
            }
            Value::Number(number) => self.text.push_str(number.as_str()),
            Value::Bool(is) => self.text.push_str(if *is { "true" } else { "false" }),
            Value::Null => self.text.push_str("null"),
        }
    }
}

/// Writes the text as a string of JSON. Most texts need few escapes, so what is between them is copied at once.
fn quote(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let (bytes, mut from, mut at) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        if bytes[at..].first_chunk().is_some_and(|next| is_plain(*next)) {
            at += 8;
            continue;
        }
        let byte = bytes[at];
        at += 1;
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..at - 1]);
        from = at;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push_str(&hex(&[byte]));
            }
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

/// Whether none of the bytes needs an escape. One behind a byte that needs one may be counted with it.
fn is_plain(bytes: [u8; 8]) -> bool {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let word = u64::from_ne_bytes(bytes);
    // A byte is less than `limit` where the subtraction borrows; bytes that are not ASCII are greater.
    let has_less = |word: u64, limit: u64| word.wrapping_sub(LOW * limit) & !word & HIGH != 0;
    let has = |byte: u8| has_less(word ^ (LOW * u64::from(byte)), 1);
    !has_less(word, u64::from(b' ')) && !has(b'"') && !has(b'\\')
}

/// The objects of a file that is written, one a line.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) lines: String,
    places: HashSet<String>,
}

impl Objects {
    /// Adds a value, and its text. Returns its digest.
    pub(crate) fn add(&mut self, value: &Value, text: &Text) -> String {
        if text.long.is_empty() || has_reference(value) {
            return self.put(&text.text);
        }
        let mut line = String::with_capacity(text.text.len().min(MAX_RESERVED));
        let mut from = 0;
        for long in &text.long {
            let name = self.put(&text.text[long.clone()]);
            line.push_str(&text.text[from..long.start]);
            line.push('{');
            quote(REFERENCE, &mut line);
            line.push(':');
            quote(&name, &mut line);
            line.push('}');
            from = long.end;
        }
        line.push_str(&text.text[from..]);
        self.put(&line)
    }

    fn put(&mut self, line: &str) -> String {
        let name = digest(line.as_bytes());
        if self.places.insert(name.clone()) {
            self.lines.push_str(line);
            self.lines.push('\n');
        }
        name
    }
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_reference),
        Value::Object(map) => map.contains_key(REFERENCE) || map.values().any(has_reference),
        _ => false,
    }
}

/// The value of that digest, with the strings that are objects; none if one of them is missing. `most` bounds the bytes of
/// strings that are put in: a file may name one string many times.
pub(crate) fn unfold(objects: &HashMap<String, String>, name: &str, most: &mut usize) -> Option<Value> {
    let value = serde_json::from_str(objects.get(name)?).ok()?;
    filled(objects, value, most)
}

fn filled(objects: &HashMap<String, String>, value: Value, most: &mut usize) -> Option<Value> {
    match value {
        Value::Array(values) => values.into_iter().map(|value| filled(objects, value, most)).collect(),
        Value::Object(map) => {
            if let (1, Some(name)) = (map.len(), map.get(REFERENCE)) {
                let text: String = serde_json::from_str(objects.get(name.as_str()?)?).ok()?;
                *most = most.checked_sub(text.len())?;
                return Some(text.into());
            }
            map.into_iter().map(|(key, value)| Some((key, filled(objects, value, most)?))).collect()
        }
        plain => Some(plain),
    }
}
