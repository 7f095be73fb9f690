//! A selection as messages, and what of it a model would not take.

use super::view::SelectionTrace;
use bub_tape::{Entry, Renderer, json};
use bub_types::text::one_line;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The selection that a selector has made of a view.
pub struct Selected {
    /// Its name, or the name of the rule that replaces it.
    pub by: String,
    /// The selected messages.
    pub selection: Selection,
    /// What it was shown, if it is a plugin.
    pub(crate) trace: Option<Arc<SelectionTrace>>,
    /// How long selecting took.
    pub took: Duration,
    /// Units; of a plugin.
    pub fuel: u64,
    /// Why it is not what was asked for: everything stands in its place.
    pub fallback: Option<String>,
}

/// As much of what the user said as shows that a message is it, in characters: more than what all messages of a session
/// begin with.
const HEAD: usize = 64;

/// A selection as messages, each a JSON object.
#[derive(Clone, Default)]
pub struct Selection {
    /// In place of the joined system prompt.
    pub system_prompt: Option<String>,
    /// Messages before the history.
    pub before: Vec<String>,
    /// Messages of the tape.
    pub history: Vec<String>,
    /// In place of what the user says in this request.
    pub new_messages: Option<Vec<String>>,
    /// Messages after the user's.
    pub after: Vec<String>,
    /// The selector's report of its decision, for the tape.
    pub notes: Option<serde_json::Map<String, serde_json::Value>>,
    /// Entries of the tape that are in it as they stand.
    pub entries: BTreeSet<u64>,
    /// The selector's own messages.
    pub own: Vec<String>,
    /// Where each message of `before`, `history` and `after` comes from, in this order; and how many there are in the lists
    /// that are whole.
    pub(crate) origins: Vec<MessageOrigin>,
    pub(crate) known: usize,
}

/// Where a message of a selection comes from, in errors for the author of the selector.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MessageOrigin {
    /// An entry of the tape.
    Entry(u64),
    /// The selector: which part of which of its lists.
    Own { list: &'static str, at: usize },
}

impl fmt::Display for MessageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(id) => write!(f, "entry {id}"),
            Self::Own { list, at } => write!(f, "the message of its own that is part {} of `{list}`", at + 1),
        }
    }
}

impl Selection {
    /// Those entries, as they stand.
    pub(crate) fn from_entries(entries: &[Entry]) -> Self {
        let mut renderer = Renderer::new();
        let mut origins = Vec::with_capacity(entries.len());
        for entry in entries {
            renderer.push(entry);
            origins.resize(renderer.count(), MessageOrigin::Entry(entry.id));
        }
        let (known, entries) = (origins.len(), entries.iter().map(|entry| entry.id).collect());
        Self { history: renderer.finish(), entries, origins, known, ..Self::default() }
    }
}

/// Looks at the messages in the order in which a model will: each has a role that models know, each result of a tool
/// follows its call and each call has its results. The user's text, `said` and in earlier steps `own`, is there.
///
/// # Errors
///
/// The selection is invalid. The error describes the problem, for the author of the selector.
pub(crate) fn check_request(selection: &Selection, new_messages: &[String], own: Option<&Entry>) -> Result<(), String> {
    let new_messages = selection.new_messages.as_deref().unwrap_or(new_messages);
    let messages = || selection.before.iter().chain(&selection.history).chain(new_messages).chain(&selection.after);
    let earlier = selection.before.len() + selection.history.len();
    // The current input stands between what was selected.
    let origin = |at: usize| match at.checked_sub(earlier) {
        None => selection.origins.get(at),
        Some(behind) => {
            behind.checked_sub(new_messages.len()).and_then(|behind| selection.origins.get(earlier + behind))
        }
    };
    let of = |at: usize| origin(at).map(|origin| format!(": {origin}")).unwrap_or_default();
    let mut open: Vec<Option<&str>> = Vec::new();
    let mut asked = 0;
    for (at, message) in messages().enumerate() {
        let [role, id, calls] = json::pick(message, ["role", "tool_call_id", "tool_calls"]);
        let role = role.and_then(json::string).unwrap_or_default();
        if !["system", "developer", "user", "assistant", "tool"].contains(&role.as_str()) {
            return Err(format!("a message has the role `{}`, which no model knows{}", one_line(&role), of(at)));
        }
        if role == "tool" {
            let place = open.iter().position(|call| id.is_none() || *call == id);
            match place {
                Some(place) => drop(open.remove(place)),
                None => return Err(format!("a result of a tool does not follow its call{}", of(at))),
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("a call of a tool is without its result{}", of(asked)));
        }
        asked = at;
        let calls = calls.and_then(|calls| json::elements(calls).ok()).unwrap_or_default();
        open = calls.into_iter().map(|call| json::get(call, "id")).collect();
    }
    if !open.is_empty() {
        return Err(format!("a call of a tool is without its result{}", of(asked)));
    }
    match own {
        Some(own) if !selection.entries.contains(&own.id) && !messages().any(|message| says(message, own)) => {
            Err(format!("what the user said in this turn is not in it: entry {}", own.id))
        }
        _ => Ok(()),
    }
}

/// Whether a user message says the beginning of what that entry says.
fn says(message: &str, own: &Entry) -> bool {
    let text = |message: &str| {
        let content = json::get(message, "content")?;
        Some(json::string(content).unwrap_or_else(|| content.to_owned()))
    };
    let head: String = text(&own.payload).unwrap_or_default().chars().take(HEAD).collect();
    json::get(message, "role") == Some(r#""user""#) && text(message).is_some_and(|text| text.contains(&head))
}
