//! Conversion of server documents to events.

use serde_json::{Map, Value};

use crate::calls::{Calls, TooManyCalls};
use crate::exchange::Event;
use crate::messages;
use crate::protocol::Protocol;

/// The order of these members on tapes; others follow in the server's order.
const USAGE_FIRST: &[&str] = &["completion_tokens", "prompt_tokens", "total_tokens"];

/// An answer in progress: one document if it came whole, many if it is streamed.
pub(crate) struct Answer {
    protocol: Protocol,
    pub(super) calls: Calls,
    pub(super) usage: Option<Map<String, Value>>,
    pub(super) reason: Option<String>,
    pub(super) has_choice: bool,
    pub(super) is_over: bool,
}

impl Answer {
    /// An empty answer.
    pub(crate) fn new(protocol: Protocol) -> Answer {
        let calls = Calls::default();
        Answer { protocol, calls, usage: None, reason: None, has_choice: false, is_over: false }
    }

    /// Processes a document and returns the events that can be emitted at once.
    pub(crate) fn take_in(&mut self, document: &Value) -> Result<Vec<Event>, TooManyCalls> {
        match self.protocol {
            Protocol::Chat => self.take_in_chat(document),
            Protocol::Messages => messages::take_in(self, document),
        }
    }

    /// Only the first choice is used: no others are requested.
    fn take_in_chat(&mut self, document: &Value) -> Result<Vec<Event>, TooManyCalls> {
        let mut events = Vec::new();
        if let Some(usage) = document.get("usage").and_then(Value::as_object) {
            // Servers that report usage several times report totals.
            self.usage = Some(usage.clone());
        }
        let Some(choice) = document.get("choices").and_then(|choices| choices.get(0)) else {
            return Ok(events);
        };
        self.has_choice = true;
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.reason = Some(reason.to_owned());
        }
        let message =
            ["delta", "message"].iter().find_map(|key| choice.get(*key).filter(|message| message.is_object()));
        let Some(message) = message else {
            return Ok(events);
        };
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|key| said(message.get(*key)));
        events.extend(reasoning.map(Event::Reasoning));
        events.extend(said(message.get("content")).map(Event::Text));
        if let Some(pieces) = message.get("tool_calls").and_then(Value::as_array) {
            self.calls.merge(pieces)?;
        }
        Ok(events)
    }

    /// Whether a document said that it was the last one.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether any document had a choice, or the protocol's equivalent.
    pub(crate) fn has_choice(&self) -> bool {
        self.has_choice
    }

    /// Whether the server reported a finish reason.
    pub(crate) fn is_finished(&self) -> bool {
        self.reason.is_some()
    }

    /// The events at the end: tool calls, usage and finish reason.
    pub(crate) fn finish(self) -> Vec<Event> {
        let mut events = Vec::new();
        let calls = self.calls.finish();
        let unsaid = match calls.is_empty() {
            true => "stop",
            false => "tool_calls",
        };
        if !calls.is_empty() {
            events.push(Event::ToolCalls(calls));
        }
        let usage = self.usage.map(|usage| match self.protocol {
            Protocol::Chat => usage,
            Protocol::Messages => messages::log(&usage),
        });
        events.extend(usage.map(|usage| Event::Usage(usage_text(usage))));
        events.push(Event::Finish(self.reason.unwrap_or_else(|| unsaid.to_owned())));
        events
    }
}

/// Text of a `content`: a string, or the text parts of a list.
fn said(content: Option<&Value>) -> Option<String> {
    let text = match content? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn usage_text(mut usage: Map<String, Value>) -> String {
    let mut ordered = Map::new();
    for key in USAGE_FIRST {
        if let Some(count) = usage.shift_remove(*key) {
            ordered.insert((*key).to_owned(), count);
        }
    }
    ordered.extend(usage);
    Value::Object(ordered).to_string()
}
