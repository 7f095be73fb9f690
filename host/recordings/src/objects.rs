//! Values by their digests. A long string within a value is an object of its own, so that what several values say stands once.

use bub_types::text::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// Strings of at least so many bytes are objects.
const LONG: usize = 256;

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
    let mut text = String::new();
    write(value, &mut text, &mut |_, _| false);
    text
}

/// Writes the value with sorted keys. `folds` may write something else in place of a string.
fn write(value: &Value, out: &mut String, folds: &mut impl FnMut(&str, &mut String) -> bool) {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
            pairs.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in pairs.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quote(key, out);
                out.push(':');
                write(value, out, folds);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(value, out, folds);
            }
            out.push(']');
        }
        Value::String(text) if folds(text, out) => {}
        Value::String(text) => quote(text, out),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::Bool(is) => out.push_str(if *is { "true" } else { "false" }),
        Value::Null => out.push_str("null"),
    }
}

/// Writes the text as a string of JSON. Most texts need few escapes, so what is between them is copied at once.
fn quote(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + 1;
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

/// The objects of a file that is written, in order.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) lines: Vec<String>,
    places: HashSet<String>,
}

impl Objects {
    /// Adds the value. Returns its digest.
    pub(crate) fn add(&mut self, value: &Value) -> String {
        let folds = !has_reference(value);
        let mut line = String::new();
        write(value, &mut line, &mut |text, out| {
            let is_folded = folds && text.len() >= LONG;
            if is_folded {
                let mut quoted = String::new();
                quote(text, &mut quoted);
                let name = self.put(quoted);
                out.push('{');
                quote(REFERENCE, out);
                out.push(':');
                quote(&name, out);
                out.push('}');
            }
            is_folded
        });
        self.put(line)
    }

    fn put(&mut self, line: String) -> String {
        let name = digest(line.as_bytes());
        if self.places.insert(name.clone()) {
            self.lines.push(line);
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
