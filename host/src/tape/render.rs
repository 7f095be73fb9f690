//! Entries as chat messages.

use super::entry::Entry;
use super::error::{Error, Result};
use super::json;

/// Turns entries into OpenAI chat messages, one after another, as Bub maps them. What stands in an entry stands in the
/// message as it is written on the tape.
#[derive(Debug, Default)]
pub struct Renderer {
    messages: Vec<String>,
    /// The newest calls, whose results are still to come. Results have no ids of their own: the place in the list pairs
    /// them.
    calls: Vec<Call>,
}

/// What a result says of the call that it answers, as JSON strings.
#[derive(Debug)]
struct Call {
    id: Option<String>,
    name: Option<String>,
}

impl Renderer {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next entry. Kinds that are no part of a conversation (`system`, `event`, `error`, unknown ones) add nothing.
    pub fn push(&mut self, entry: &Entry) {
        match entry.kind.as_str() {
            "anchor" => self.anchor(&entry.payload),
            "message" => self.messages.push(entry.payload.clone()),
            "tool_call" => self.tool_call(&entry.payload),
            "tool_result" => self.tool_result(&entry.payload),
            _ => {}
        }
    }

    /// A message that stands between the entries: a selector's own. Calls that wait for their results go on waiting.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when it is no JSON object.
    pub fn push_message(&mut self, message: &str) -> Result<()> {
        let message = json::normalise(message)?;
        if !json::is_object(&message) {
            return Err(Error::invalid("a chat message is a JSON object"));
        }
        self.messages.push(message);
        Ok(())
    }

    /// The messages, each a JSON object.
    pub fn finish(self) -> Vec<String> {
        self.messages
    }

    fn anchor(&mut self, payload: &str) {
        let name = json::get(payload, "name").map_or_else(|| "null".to_owned(), plain);
        let state = json::get(payload, "state").unwrap_or("null");
        let text = format!("[Anchor created: {name}]: {}", printed(state));
        self.messages.push(format!(r#"{{"role": "assistant", "content": {}}}"#, json::quote(&text)));
    }

    fn tool_call(&mut self, payload: &str) {
        let calls = items(payload, "calls");
        let calls: Vec<&str> = calls.into_iter().filter(|call| json::is_object(call)).collect();
        self.calls = calls.iter().map(|call| Call::of(call)).collect();
        if !calls.is_empty() {
            self.messages
                .push(format!(r#"{{"role": "assistant", "content": "", "tool_calls": [{}]}}"#, calls.join(", ")));
        }
    }

    fn tool_result(&mut self, payload: &str) {
        let mut calls = std::mem::take(&mut self.calls).into_iter();
        for result in items(payload, "results") {
            let content = match result.starts_with('"') {
                true => result.to_owned(),
                false => json::quote(&printed(result)),
            };
            let mut message = format!(r#"{{"role": "tool", "content": {content}"#);
            if let Some(call) = calls.next() {
                for (key, value) in [("tool_call_id", call.id), ("name", call.name)] {
                    if let Some(value) = value {
                        message.push_str(&format!(r#", "{key}": {value}"#));
                    }
                }
            }
            message.push('}');
            self.messages.push(message);
        }
    }
}

impl Call {
    fn of(call: &str) -> Self {
        // Bub takes only texts, and no empty ones.
        let text = |value: &&str| value.starts_with('"') && value.len() > 2;
        let function = json::get(call, "function").filter(|value| json::is_object(value));
        let name = function.and_then(|function| json::get(function, "name"));
        Self { id: json::get(call, "id").filter(text).map(str::to_owned), name: name.filter(text).map(str::to_owned) }
    }
}

/// The items of the list under `key`; none when it is no list.
fn items<'a>(payload: &'a str, key: &str) -> Vec<&'a str> {
    let list = json::get(payload, key);
    list.and_then(|list| json::elements(list).ok()).unwrap_or_default()
}

/// A value in Python's spelling.
fn printed(value: &str) -> String {
    json::reprint(value).unwrap_or_else(|_| value.to_owned())
}

/// A text as it is, anything else in Python's spelling.
fn plain(value: &str) -> String {
    json::string(value).unwrap_or_else(|| printed(value))
}
