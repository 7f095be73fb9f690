//! Conversion of chat messages to alternating turns of user and model.
//!
//! The API rejects calls without a result, results without a call, and duplicate ids. A tape may have all three: turns
//! are interrupted, and some providers restart their ids in every answer.

use bub_types::text::escaped;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::part::{self, text_block};
use super::spelled;
use crate::body::{list, member, quoted};
use crate::raw_object::RawObject;

/// Placeholder for a user turn before the model's first one, which the API requires.
const BEFORE: &str = "(The conversation has begun before this.)";

/// Placeholder for a user turn after the model's last one. Newer models reject prefilled answers.
const GO_ON: &str = "Continue.";

/// Placeholder for a missing tool result.
const LOST: &str = "the result of this call was lost";

/// A conversation in the API's format.
#[derive(Default)]
pub(super) struct History {
    /// Text blocks of the system messages at the beginning.
    pub(super) system: Vec<String>,
    pub(super) turns: Vec<Turn>,
    /// Names of all tools that were called.
    pub(super) called: BTreeSet<String>,
    /// Calls of the model's last turn without results.
    waiting: Vec<PendingCall>,
    ids: Ids,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

/// Consecutive blocks of one role.
pub(super) struct Turn {
    pub(super) role: Role,
    /// In a user's turn tool results, in the model's turn text.
    first: Vec<String>,
    /// In a user's turn text, in the model's turn tool calls: a result must follow its call directly.
    then: Vec<String>,
}

/// A call without a result so far.
struct PendingCall {
    /// The id in the conversation; it may be missing.
    given: Option<String>,
    /// The id in the request.
    id: String,
}

impl History {
    /// Parses messages. Errors name the message by its number.
    pub(super) fn read(messages: &[RawObject]) -> Result<History, String> {
        let mut history = History::default();
        // The current prompt follows the model's last message.
        let now = messages.iter().rposition(|text| is_answer(text)).map_or(0, |at| at + 1);
        for (index, text) in messages.iter().enumerate() {
            let message: Value =
                serde_json::from_str(text).map_err(|_| format!("message {index} is nested too deep"))?;
            history.push(&message, index >= now).map_err(|wrong| format!("message {index} {wrong}"))?;
        }
        if history.turns.last().is_none_or(|turn| turn.role == Role::Assistant) && history.waiting.is_empty() {
            history.user_says(vec![text_block(GO_ON)]);
        }
        history.settle();
        Ok(history)
    }

    /// Whether the last turn has tool results: the model is in the middle of an answer.
    pub(super) fn awaits_answer_to_results(&self) -> bool {
        self.turns.last().is_some_and(|turn| turn.role == Role::User && !turn.first.is_empty())
    }

    fn push(&mut self, message: &Value, is_asked_now: bool) -> Result<(), String> {
        let content = message.get("content").unwrap_or(&Value::Null);
        match message.get("role").and_then(Value::as_str).unwrap_or_default() {
            "system" | "developer" => self.push_system(&part::text_of(content)),
            "user" if is_asked_now => self.user_says(part::blocks(content)?),
            "user" => self.user_says(part::past_blocks(content)?),
            "assistant" => self.push_assistant(message, content)?,
            "tool" | "function" => self.push_result(message, content)?,
            role => {
                let role = escaped(role, 40);
                return Err(format!("has the role `{role}`, which this provider does not support"));
            }
        }
        Ok(())
    }

    fn push_system(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.turns.is_empty() {
            self.system.push(text_block(text));
        } else {
            self.user_says(vec![text_block(&format!("<system-message>\n{text}\n</system-message>"))]);
        }
    }

    fn push_assistant(&mut self, message: &Value, content: &Value) -> Result<(), String> {
        let words = part::said(content)?;
        let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if words.is_empty() && calls.is_empty() {
            return Ok(());
        }
        let mut written = Vec::with_capacity(calls.len());
        match self.turns.last() {
            None => self.user_says(vec![text_block(BEFORE)]),
            Some(turn) if turn.role == Role::User => self.settle(),
            Some(_) => {}
        }
        for call in calls {
            let given = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
            let id = self.ids.fresh(given.unwrap_or_default());
            let function = call.get("function").unwrap_or(&Value::Null);
            let name = spelled(function.get("name").and_then(Value::as_str).unwrap_or_default(), "unknown");
            let mut block = format!("{{\"type\":\"tool_use\",\"id\":{}", quoted(&id));
            member(&mut block, "name", &quoted(&name));
            member(&mut block, "input", &input(function.get("arguments")));
            block.push('}');
            written.push(block);
            self.called.insert(name);
            self.waiting.push(PendingCall { given: given.map(str::to_owned), id });
        }
        self.add(Role::Assistant, words, written);
        Ok(())
    }

    /// A result belongs to the call with its id, or without an id to the first open one. Without a matching call it
    /// becomes text.
    fn push_result(&mut self, message: &Value, content: &Value) -> Result<(), String> {
        let given = message.get("tool_call_id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let place = self.waiting.iter().position(|call| given.is_none() || call.given.as_deref() == given);
        let Some(place) = place else {
            let name = message.get("name").and_then(Value::as_str).unwrap_or("unknown");
            let mut blocks = part::past_blocks(content)?;
            blocks.insert(0, text_block(&format!("(The result of an earlier call of `{name}`:)")));
            self.user_says(blocks);
            return Ok(());
        };
        let result = result(&self.waiting.remove(place).id, &part::past_blocks(content)?, part::is_failure(content));
        self.add(Role::User, vec![result], Vec::new());
        Ok(())
    }

    /// Adds results to open calls, so that the model's next turn can follow.
    fn settle(&mut self) {
        let lost: Vec<String> =
            self.waiting.drain(..).map(|call| result(&call.id, &[text_block(LOST)], true)).collect();
        self.add(Role::User, lost, Vec::new());
    }

    fn user_says(&mut self, words: Vec<String>) {
        self.add(Role::User, Vec::new(), words);
    }

    /// Adds to the last turn if it has that role, else begins one. Empty content begins none.
    fn add(&mut self, role: Role, first: Vec<String>, then: Vec<String>) {
        if first.is_empty() && then.is_empty() {
            return;
        }
        match self.turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => {
                turn.first.extend(first);
                turn.then.extend(then);
            }
            None => self.turns.push(Turn { role, first, then }),
        }
    }
}

impl Turn {
    /// The last block.
    pub(super) fn last_mut(&mut self) -> Option<&mut String> {
        self.then.last_mut().or(self.first.last_mut())
    }

    /// The turn as JSON.
    pub(super) fn text(&self) -> String {
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let blocks: Vec<&str> = self.first.iter().chain(&self.then).map(String::as_str).collect();
        format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(","))
    }
}

fn is_answer(message: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Role<'m> {
        #[serde(borrow)]
        role: Option<std::borrow::Cow<'m, str>>,
    }
    serde_json::from_str::<Role<'_>>(message).is_ok_and(|message| message.role.as_deref() == Some("assistant"))
}

/// A call's arguments, byte for byte if they are an object. A model may write anything, but the API accepts objects
/// only.
fn input(arguments: Option<&Value>) -> String {
    match arguments {
        Some(Value::String(text)) if text.trim().is_empty() => "{}".to_owned(),
        Some(Value::String(text)) => match RawObject::new(text) {
            Ok(object) => object.to_string(),
            Err(_) => format!("{{\"arguments\":{}}}", quoted(text)),
        },
        Some(arguments @ Value::Object(_)) => arguments.to_string(),
        _ => "{}".to_owned(),
    }
}

fn result(id: &str, blocks: &[String], failed: bool) -> String {
    let mut text = format!("{{\"type\":\"tool_result\",\"tool_use_id\":{}", quoted(id));
    if !blocks.is_empty() {
        member(&mut text, "content", &list(blocks));
    }
    if failed {
        member(&mut text, "is_error", "true");
    }
    text.push('}');
    text
}

/// Assigns unique ids to calls.
#[derive(Default)]
struct Ids {
    taken: HashSet<String>,
    /// Occurrences of each id: some servers use `call_0` in every answer.
    asked: HashMap<String, u64>,
}

impl Ids {
    fn fresh(&mut self, given: &str) -> String {
        let id = spelled(given, "call");
        let count = self.asked.entry(id.clone()).or_insert(0);
        loop {
            *count = count.saturating_add(1);
            let fresh = if *count == 1 { id.clone() } else { format!("{id}_{count}") };
            if self.taken.insert(fresh.clone()) {
                return fresh;
            }
        }
    }
}
