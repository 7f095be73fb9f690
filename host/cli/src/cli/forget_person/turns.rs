//! Whose turn the entries of a tape belong to.
//!
//! The host writes the sender in front of each prompt (`sender_id=ada|channel=$group`, and the date on the next line), and no
//! sender can write there. A turn is what stands from a prompt to the next one of another sender: the message, the tool calls
//! with their results, and the answer.

use bub_tape::Entry;
use serde_json::Value;
use std::collections::BTreeSet;

/// Events that say how a session goes on, and hold nothing that anyone said.
const SETTINGS: [&str; 9] = [
    "memory.forgotten",
    "tape.erased",
    "turn.tainted",
    "turn.addresses",
    "model_switch",
    "reasoning_effort_switch",
    "selector_switch",
    "session",
    "chain",
];

/// Follows a tape from its beginning.
pub(super) struct Attribution<'a> {
    person: &'a str,
    /// Whether the running turn is theirs; none: it is not known whose it is.
    current: Option<bool>,
    /// All senders of the tape.
    pub(super) senders: BTreeSet<String>,
}

/// The treatment of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It is of a turn of the person.
    Theirs,
    /// Another sender's own message.
    OfOther,
    /// A command, which has no sender.
    Command,
    /// Something else: the answer to another sender, a system prompt, a setting.
    Rest,
}

impl<'a> Attribution<'a> {
    pub(super) fn new(person: &'a str) -> Self {
        Self { person, current: None, senders: BTreeSet::new() }
    }

    pub(super) fn next(&mut self, entry: &Entry) -> Part {
        let payload: Value = match &*entry.kind {
            "message" | "event" => serde_json::from_str(&entry.payload).unwrap_or_default(),
            _ => Value::Null,
        };
        let name = payload.get("name").and_then(Value::as_str).unwrap_or_default();
        if let Some(sender) = prompt(entry, &payload).and_then(sender) {
            let is_theirs = sender.as_deref() == Some(self.person);
            self.senders.extend(sender);
            self.current = Some(is_theirs);
            return if is_theirs { Part::Theirs } else { Part::OfOther };
        }
        if entry.is("event") && name == "command" {
            self.current = None;
            return Part::Command;
        }
        let is_setting = entry.is("system") || (entry.is("event") && SETTINGS.contains(&name));
        let begins = entry.is("anchor") && name_of_anchor(entry).is_some_and(|name| name == bub_tape::SESSION_START);
        match self.current {
            Some(true) if !is_setting && !begins => Part::Theirs,
            _ => Part::Rest,
        }
    }
}

fn name_of_anchor(entry: &Entry) -> Option<String> {
    let payload: Value = serde_json::from_str(&entry.payload).ok()?;
    payload.get("name")?.as_str().map(str::to_owned)
}

/// The prompt that an entry records.
fn prompt<'v>(entry: &Entry, payload: &'v Value) -> Option<&'v str> {
    if entry.is("message") {
        if payload.get("role")?.as_str()? != "user" {
            return None;
        }
        let content = payload.get("content")?;
        return content.as_str().or_else(|| content.get(0)?.get("text")?.as_str());
    }
    let data = payload.get("data").filter(|_| entry.is("event"))?;
    data.get("prompt")?.as_str()
}

/// The sender in front of a prompt; none within: it names none. None: nothing stands in front of it.
fn sender(prompt: &str) -> Option<Option<String>> {
    let (head, rest) = prompt.split_once('\n')?;
    let date = rest.lines().next()?;
    if !(date.starts_with("---Date: ") && date.trim_end().ends_with("---")) {
        return None;
    }
    let Some((_, behind)) =
        head.split_once("sender_id=").filter(|(before, _)| before.is_empty() || before.ends_with('|'))
    else {
        return Some(None);
    };
    // What has a bar in it is still one sender: the next value begins with its name.
    let mut end = behind.len();
    for (at, _) in behind.match_indices('|') {
        let name = behind.get(at + 1..).and_then(|next| next.split_once('=')).map(|(name, _)| name);
        if name.is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) {
            end = at;
            break;
        }
    }
    Some(behind.get(..end).map(str::to_owned))
}

/// The own words of a prompt of the person: without what the host wrote in front.
pub(super) fn words(entry: &Entry) -> Option<String> {
    let payload: Value = serde_json::from_str(&entry.payload).ok()?;
    let prompt = prompt(entry, &payload)?;
    sender(prompt)?;
    let (_, rest) = prompt.split_once('\n')?;
    Some(rest.split_once('\n').map(|(_, words)| words).unwrap_or_default().to_owned())
}
