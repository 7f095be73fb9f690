//! Grouping of entries into exchanges: a user message and everything that follows from it.

use bub_estimate::chat;
use bub_guest::tape::Entry;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// One exchange, in the order of the tape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exchange {
    pub units: Vec<Unit>,
}

/// A unit that is included or omitted as a whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Unit {
    /// An anchor or a message. `asked` is the text of a user message.
    Message { id: u64, tokens: u64, asked: Option<String> },
    /// Replaces a message of the tape.
    Cut { id: u64, message: Value },
    /// Tool calls with their results.
    Calls { id: u64, call_tokens: u64, names: Vec<String>, results: Results },
}

/// The results of one list of calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    pub id: u64,
    /// Chat messages with their estimates.
    pub messages: Vec<(Value, u64)>,
    /// Whether they were shortened.
    pub cut: bool,
    /// Number of failed results.
    pub failed: usize,
}

impl Unit {
    pub fn id(&self) -> u64 {
        match self {
            Self::Message { id, .. } | Self::Cut { id, .. } | Self::Calls { id, .. } => *id,
        }
    }

    /// The last of its entries.
    pub fn last_id(&self) -> u64 {
        match self {
            Self::Calls { results, .. } => results.id,
            Self::Message { .. } | Self::Cut { .. } => self.id(),
        }
    }

    /// The estimate of each message, so that each can be corrected separately.
    pub fn weights(&self) -> Vec<u64> {
        match self {
            Self::Message { tokens, .. } => vec![*tokens],
            Self::Cut { message, .. } => vec![chat::message(message)],
            Self::Calls { call_tokens, results, .. } => {
                std::iter::once(*call_tokens).chain(results.messages.iter().map(|(_, tokens)| *tokens)).collect()
            }
        }
    }

    /// Number of chat messages.
    pub fn len(&self) -> usize {
        match self {
            Self::Message { .. } | Self::Cut { .. } => 1,
            Self::Calls { results, .. } => 1 + results.messages.len(),
        }
    }
}

/// The role of an entry in a thread.
enum Item {
    /// Begin or end of a turn of the agent loop.
    Begin,
    End,
    Message(Unit),
    Calls {
        id: u64,
        tokens: u64,
        calls: Vec<Call>,
    },
    Results {
        id: u64,
        results: Vec<Value>,
    },
    Nothing,
}

struct Call {
    id: Option<String>,
    name: Option<String>,
}

/// Groups entries into exchanges, in order. An exchange begins with a turn of the agent loop or, on a tape without that
/// event, with a user message. Calls without all their results and results without calls are omitted: no model accepts
/// them.
pub fn exchanges(entries: &[Entry]) -> Vec<Exchange> {
    let mut thread = Thread::default();
    entries.iter().for_each(|entry| thread.push(entry));
    thread.exchanges.retain(|exchange| !exchange.units.is_empty());
    thread.exchanges
}

/// The id of a call at the end of these entries whose results are not among them.
pub fn open_call(entries: &[Entry]) -> Option<u64> {
    let mut thread = Thread::default();
    entries.iter().for_each(|entry| thread.push(entry));
    thread.waiting.map(|(id, ..)| id)
}

#[derive(Default)]
struct Thread {
    exchanges: Vec<Exchange>,
    /// Whether the current exchange is a turn of the agent loop, which may have several user messages.
    in_turn: bool,
    /// Calls without results so far.
    waiting: Option<(u64, u64, Vec<Call>)>,
}

impl Thread {
    fn push(&mut self, entry: &Entry) {
        let item = item(entry);
        let waiting = if matches!(item, Item::Nothing) { None } else { self.waiting.take() };
        match item {
            Item::Begin => {
                self.exchanges.push(Exchange::default());
                self.in_turn = true;
            }
            Item::End => self.in_turn = false,
            Item::Message(unit) => {
                let asks = matches!(&unit, Unit::Message { asked: Some(_), .. });
                if asks && !self.in_turn || self.exchanges.is_empty() {
                    self.exchanges.push(Exchange::default());
                }
                self.add(unit);
            }
            Item::Calls { id, tokens, calls } => self.waiting = Some((id, tokens, calls)),
            Item::Results { id, results } => {
                if let Some((call_id, call_tokens, calls)) =
                    waiting.filter(|(_, _, calls)| calls.len() == results.len())
                {
                    let names = calls.iter().filter_map(|call| call.name.clone()).collect();
                    let results = Results::new(id, &calls, &results);
                    self.add(Unit::Calls { id: call_id, call_tokens, names, results });
                }
            }
            Item::Nothing => {}
        }
    }

    fn add(&mut self, unit: Unit) {
        match self.exchanges.last_mut() {
            Some(exchange) => exchange.units.push(unit),
            None => self.exchanges.push(Exchange { units: vec![unit] }),
        }
    }
}

impl Results {
    fn new(id: u64, calls: &[Call], results: &[Value]) -> Self {
        let message = |(call, result): (&Call, &Value)| {
            let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
            let mut message = json!({ "role": "tool", "content": text });
            if let Some(id) = &call.id {
                message["tool_call_id"] = id.as_str().into();
            }
            if let Some(name) = &call.name {
                message["name"] = name.as_str().into();
            }
            let tokens = chat::message(&message);
            (message, tokens)
        };
        let failed = results.iter().filter(|result| result.get("kind").is_some() && result.get("message").is_some());
        Self { id, failed: failed.count(), messages: calls.iter().zip(results).map(message).collect(), cut: false }
    }
}

/// The beginning of an event.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    data: Option<EventData>,
}

#[derive(Deserialize)]
struct EventData {
    status: Option<String>,
}

/// A message that is a plain text, the common case: borrowed from the payload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Cow<'a, str>,
}

fn item(entry: &Entry) -> Item {
    match entry.kind.as_str() {
        "event" => event(&entry.payload),
        "anchor" => {
            // As the host renders it, except for spaces in the state.
            let tokens = chat::plain(&entry.payload) + chat::plain("[Anchor created]");
            Item::Message(Unit::Message { id: entry.id, tokens, asked: None })
        }
        "message" => {
            if let Ok(said) = serde_json::from_str::<Said<'_>>(&entry.payload) {
                let asked = (said.role == "user").then(|| said.content.clone().into_owned());
                return Item::Message(Unit::Message { id: entry.id, tokens: chat::plain(&said.content), asked });
            }
            let Some(message) = object(&entry.payload) else { return Item::Nothing };
            let asked = (message["role"] == "user").then(|| words(&message["content"]));
            Item::Message(Unit::Message { id: entry.id, tokens: chat::message(&message), asked })
        }
        "tool_call" => match object(&entry.payload).map(|payload| payload["calls"].clone()) {
            Some(Value::Array(calls)) if !calls.is_empty() && calls.iter().all(Value::is_object) => {
                let tokens = chat::message(&json!({ "tool_calls": calls }));
                let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                let call = |call: &Value| Call { id: text(&call["id"]), name: text(&call["function"]["name"]) };
                Item::Calls { id: entry.id, tokens, calls: calls.iter().map(call).collect() }
            }
            _ => Item::Nothing,
        },
        "tool_result" => match object(&entry.payload).map(|payload| payload["results"].clone()) {
            Some(Value::Array(results)) => Item::Results { id: entry.id, results },
            _ => Item::Nothing,
        },
        _ => Item::Nothing,
    }
}

fn event(payload: &str) -> Item {
    // Most events are others; a substring search is cheaper than parsing.
    if !payload.contains("loop.") {
        return Item::Nothing;
    }
    match serde_json::from_str::<Event<'_>>(payload) {
        Ok(event) if event.name == "loop.start" => Item::Begin,
        Ok(event) if event.name == "loop.step" => match event.data.and_then(|data| data.status).as_deref() {
            Some("ok" | "error") => Item::End,
            _ => Item::Nothing,
        },
        _ => Item::Nothing,
    }
}

fn object(payload: &str) -> Option<Value> {
    serde_json::from_str::<Value>(payload).ok().filter(Value::is_object)
}

/// The text of a message, or of its parts.
pub fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The user's own text, without the context and date before it.
pub fn typed(prompt: &str) -> &str {
    let mut at = 0;
    for line in prompt.split_inclusive('\n').take(2) {
        at += line.len();
        let line = line.trim_end();
        if line.starts_with("---Date: ") && line.ends_with("---") {
            return &prompt[at..];
        }
    }
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Tape;

    fn shape(tape: &Tape) -> Vec<Vec<u64>> {
        exchanges(&tape.0).iter().map(|exchange| exchange.units.iter().map(Unit::id).collect()).collect()
    }

    #[test]
    fn a_turn_of_the_loop_is_one_exchange() {
        let mut tape = Tape::default();
        tape.start().user("one").calls(&["a", "b"]).user("Continue").assistant("done").end();
        tape.start().user("two").assistant("well").end();
        assert_eq!(shape(&tape), [vec![2, 3, 5, 6], vec![9, 10]]);
    }

    #[test]
    fn without_turn_events_an_exchange_begins_with_a_user_message() {
        let mut tape = Tape::default();
        tape.assistant("hello").user("one").assistant("1").user("two").calls(&["a"]).assistant("2");
        assert_eq!(shape(&tape), [vec![1], vec![2, 3], vec![4, 5, 7]]);
        // A message from another source than the loop, after a turn of the loop.
        let mut tape = Tape::default();
        tape.start().user("one").assistant("1").end().user("two").assistant("2");
        assert_eq!(shape(&tape), [vec![2, 3], vec![5, 6]]);
    }

    #[test]
    fn calls_without_results_and_results_without_calls_are_left_out() {
        let mut tape = Tape::default();
        tape.result("lost").user("one").call(&["a"]).user("two").call(&["a", "b"]).result("only one").assistant("3");
        assert_eq!(shape(&tape), [vec![2], vec![4, 7]]);
    }

    #[test]
    fn the_prefix_of_the_builtin_stages_is_not_the_users_text() {
        assert_eq!(
            typed("sender_id=x|channel=$cli\n---Date: 2026-11-21T10:00:00+01:00---\nhello\nthere"),
            "hello\nthere"
        );
        assert_eq!(typed("---Date: 2026-11-21T10:00:00+01:00---\nhello"), "hello");
        assert_eq!(typed("hello\nthere\n---Date: x---\n"), "hello\nthere\n---Date: x---\n");
        assert_eq!(typed(""), "");
    }
}
