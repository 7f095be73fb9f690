//! Values by their digests. A long string within a value is an object of its own, so that what several values say stands once.

use bub_types::text::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

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
    sorted(value.clone()).to_string()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(pairs.into_iter().collect())
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        plain => plain,
    }
}

/// The objects of a file that is written, in order.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) lines: Vec<String>,
    places: HashMap<String, usize>,
}

impl Objects {
    /// Adds the value. Returns its digest.
    pub(crate) fn add(&mut self, value: Value) -> String {
        let value = sorted(value);
        let folded = match has_reference(&value) {
            true => value,
            false => self.fold(value),
        };
        self.put(folded.to_string())
    }

    fn put(&mut self, line: String) -> String {
        let name = digest(line.as_bytes());
        if !self.places.contains_key(&name) {
            self.places.insert(name.clone(), self.lines.len());
            self.lines.push(line);
        }
        name
    }

    fn fold(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) if text.len() >= LONG => {
                let name = self.put(Value::String(text).to_string());
                Value::Object(Map::from_iter([(REFERENCE.to_owned(), name.into())]))
            }
            Value::Array(values) => values.into_iter().map(|value| self.fold(value)).collect(),
            Value::Object(map) => map.into_iter().map(|(key, value)| (key, self.fold(value))).collect(),
            plain => plain,
        }
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
