//! Finds texts in an entry's payload, however they are escaped.

use serde_json::Value;

use super::entry::Entry;

/// Texts to find in entries, ignoring case.
#[derive(Clone, Debug)]
pub struct Words(Vec<Text>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    lower: String,
    /// Its longest run of ASCII letters and digits, which JSON contains verbatim at any depth of quoting.
    run: String,
}

impl Words {
    /// Blank texts are ignored.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut words: Vec<Text> = Vec::new();
        for text in texts.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            let lower = text.to_lowercase();
            let runs = lower.split(|character: char| !character.is_ascii_alphanumeric());
            let run = runs.max_by_key(|run| run.len()).unwrap_or_default().to_owned();
            let text = Text { lower, run };
            if !words.contains(&text) {
                words.push(text);
            }
        }
        Self(words)
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them occurs in a string of the entry's payload, also in JSON within a string, such as a call's
    /// arguments. Keys, the entry's date and its meta are ignored.
    pub fn stand_in(&self, entry: &Entry) -> bool {
        self.stand_in_json(&entry.payload)
    }

    /// Whether one of them occurs in a plain text.
    pub fn stand_in_text(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        self.0.iter().any(|wanted| lower.contains(&wanted.lower))
    }

    /// Like [`stand_in`](Self::stand_in), for JSON.
    pub fn stand_in_json(&self, payload: &str) -> bool {
        let lower = payload.to_lowercase();
        let may_be = |text: &Text| lower.contains(&text.run) || lower.contains("\\u");
        if !self.0.iter().any(may_be) {
            return false;
        }
        serde_json::from_str(payload).is_ok_and(|value: Value| self.stand_in_value(&value, 0))
    }

    fn stand_in_value(&self, value: &Value, depth: usize) -> bool {
        match value {
            Value::String(text) => {
                let lower = text.to_lowercase();
                if self.0.iter().any(|wanted| lower.contains(&wanted.lower)) {
                    return true;
                }
                let is_json = depth < 4 && text.trim_start().starts_with(['{', '[', '"']);
                is_json && serde_json::from_str(text).is_ok_and(|value: Value| self.stand_in_value(&value, depth + 1))
            }
            Value::Array(items) => items.iter().any(|item| self.stand_in_value(item, depth)),
            Value::Object(fields) => fields.values().any(|item| self.stand_in_value(item, depth)),
            Value::Number(number) => {
                let text = number.to_string();
                self.0.iter().any(|wanted| text == wanted.lower)
            }
            Value::Null | Value::Bool(_) => false,
        }
    }
}
