//! Rendering of entries to chat messages.

use std::sync::Arc;

use super::entry::Entry;
use super::error::{Error, Result};
use super::json;

/// Renders entries as OpenAI chat messages, as Bub does. Message content is copied byte for byte.
#[derive(Debug, Default)]
pub struct Renderer {
    messages: Vec<String>,
    /// The newest calls whose results are pending. Results have no ids of their own, and are paired by position.
    calls: Arc<[Call]>,
}

/// The contribution of one entry to a conversation. Expensive to make, cheap to add, and immutable, so it can be
/// cached.
#[derive(Debug)]
pub struct RenderedEntry(Part);

#[derive(Debug)]
enum Part {
    /// Not part of a conversation.
    Nothing,
    Message(String),
    /// A message with tool calls, if there are any.
    Calls(Option<String>, Arc<[Call]>),
    /// Results of the calls, as JSON strings.
    Results(Vec<String>),
}

/// The members of a result that refer to its call, as JSON strings.
#[derive(Debug)]
struct Call {
    id: Option<String>,
    name: Option<String>,
}

impl Renderer {
    /// A renderer without messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next entry.
    pub fn push(&mut self, entry: &Entry) {
        match RenderedEntry::new(entry) {
            // Not shared, so it can be moved.
            RenderedEntry(Part::Message(message)) => self.messages.push(message),
            piece => self.add(&piece),
        }
    }

    /// Adds the next entry, rendered before.
    pub fn add(&mut self, piece: &RenderedEntry) {
        match &piece.0 {
            Part::Nothing => {}
            Part::Message(message) => self.messages.push(message.clone()),
            Part::Calls(message, calls) => {
                self.calls = calls.clone();
                self.messages.extend(message.clone());
            }
            Part::Results(results) => self.results(results),
        }
    }

    /// Adds a message between entries, such as a selector's own. Pending calls stay pending.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if it is not a JSON object.
    pub fn push_message(&mut self, message: &str) -> Result<()> {
        let message = json::normalise(message)?;
        if !json::is_object(&message) {
            return Err(Error::invalid("a chat message must be a JSON object"));
        }
        self.messages.push(message);
        Ok(())
    }

    /// Number of messages so far.
    pub fn count(&self) -> usize {
        self.messages.len()
    }

    /// The messages, each a JSON object.
    pub fn finish(self) -> Vec<String> {
        self.messages
    }

    fn results(&mut self, results: &[String]) {
        let calls = std::mem::take(&mut self.calls);
        let mut calls = calls.iter();
        for content in results {
            let call = calls.next();
            let said = [
                ("tool_call_id", call.and_then(|call| call.id.as_ref())),
                ("name", call.and_then(|call| call.name.as_ref())),
            ];
            let mut message = String::with_capacity(content.len() + 128);
            message.push_str(r#"{"role": "tool", "content": "#);
            message.push_str(content);
            for (key, value) in said.into_iter().filter_map(|(key, value)| Some((key, value?))) {
                for text in [", \"", key, "\": ", value.as_str()] {
                    message.push_str(text);
                }
            }
            message.push('}');
            self.messages.push(message);
        }
    }
}

impl RenderedEntry {
    /// Renders an entry. Other kinds (`system`, `event`, `error`, unknown ones) render to nothing.
    pub fn new(entry: &Entry) -> Self {
        Self(match &*entry.kind {
            "anchor" => Part::Message(anchor(&entry.payload)),
            "message" => Part::Message(entry.payload.to_string()),
            "tool_call" => calls(&entry.payload),
            "tool_result" => Part::Results(items(&entry.payload, "results").into_iter().map(content).collect()),
            _ => Part::Nothing,
        })
    }
}

fn anchor(payload: &str) -> String {
    let name = json::get(payload, "name").map_or_else(|| "null".to_owned(), plain);
    let state = json::get(payload, "state").unwrap_or("null");
    let text = format!("[Anchor created: {name}]: {}", printed(state));
    format!(r#"{{"role": "assistant", "content": {}}}"#, json::quote(&text))
}

fn calls(payload: &str) -> Part {
    let calls: Vec<&str> = items(payload, "calls").into_iter().filter(|call| json::is_object(call)).collect();
    let message = match calls.is_empty() {
        true => None,
        false => Some(format!(r#"{{"role": "assistant", "content": "", "tool_calls": [{}]}}"#, calls.join(", "))),
    };
    Part::Calls(message, calls.into_iter().map(Call::parse).collect())
}

/// A call's result, as the content of a message.
fn content(result: &str) -> String {
    match result.starts_with('"') {
        true => result.to_owned(),
        false => json::quote(&printed(result)),
    }
}

impl Call {
    fn parse(call: &str) -> Self {
        // Bub accepts only non-empty texts.
        let text = |value: &&str| value.starts_with('"') && value.len() > 2;
        let function = json::get(call, "function").filter(|value| json::is_object(value));
        let name = function.and_then(|function| json::get(function, "name"));
        Self { id: json::get(call, "id").filter(text).map(str::to_owned), name: name.filter(text).map(str::to_owned) }
    }
}

/// The items of the list under `key`; empty if it is not a list.
fn items<'a>(payload: &'a str, key: &str) -> Vec<&'a str> {
    let list = json::get(payload, key);
    list.and_then(|list| json::elements(list).ok()).unwrap_or_default()
}

/// A value in Python's JSON format.
fn printed(value: &str) -> String {
    json::reprint(value).unwrap_or_else(|_| value.to_owned())
}

/// A string decoded, any other value in Python's JSON format.
fn plain(value: &str) -> String {
    json::string(value).unwrap_or_else(|| printed(value))
}
