//! The input and the result of building a context.

use super::system;
use super::system::Cut;
use crate::budget::Tracker;
use crate::scale::Scale;
use crate::thread::{self, Unit};
use crate::window::CONTINUE;
use bub_guest::view::{Part, Selected};
use serde_json::{Value, json};

/// The inputs that the selection does not decide.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub system_prompt: String,
    /// Its parts.
    pub system_parts: Vec<system::Part>,
    /// The text of the current prompt.
    pub prompt: String,
    /// User messages that are not on the tape yet.
    pub said: Vec<Value>,
    /// Name, description, parameters.
    pub tools: Vec<(String, String, String)>,
    /// The tape's last id when the turn began.
    pub began: u64,
    /// The input budget of the model, if known.
    pub input_budget: Option<u64>,
    pub scale: Scale,
}

/// The result.
#[derive(Debug)]
pub struct Built {
    pub system_prompt: Option<String>,
    /// The parts that were shortened.
    pub cuts: Vec<Cut>,
    pub before: Vec<Value>,
    pub history: Vec<Unit>,
    /// Replaces the user messages, if they were cut.
    pub said: Option<Vec<Value>>,
    pub after: Vec<Value>,
    pub tracker: Tracker,
    pub metadata: Value,
    /// One line per step.
    pub log: Vec<String>,
}

impl Request {
    /// The user messages of this request, newest first.
    pub(super) fn spoken(&self) -> impl Iterator<Item = String> {
        self.said
            .iter()
            .rev()
            .map(|message| thread::words(&message["content"]))
            .filter(|text| !text.starts_with(CONTINUE))
    }
}

impl Built {
    /// The selection for the host; the notes record the decisions and their costs.
    pub fn selected(self) -> Selected {
        let mut notes = json!({ "tokenStats": self.tracker.stats(), "metadata": self.metadata });
        if !self.cuts.is_empty() {
            notes["cuts"] = self.cuts.iter().map(Cut::note).collect();
        }
        Selected {
            system_prompt: self.system_prompt,
            before: self.before.iter().map(own).collect(),
            history: self.history.iter().flat_map(parts).collect(),
            after: self.after.iter().map(own).collect(),
            notes: notes.to_string(),
        }
    }
}

fn own(message: &Value) -> Part {
    Part::Message(message.to_string())
}

/// Ids of unchanged entries, and messages for those that were cut.
fn parts(unit: &Unit) -> Vec<Part> {
    match unit {
        Unit::Message { id, .. } => vec![Part::Entry(*id)],
        Unit::Cut { message, .. } => vec![own(message)],
        Unit::Calls { id, results, .. } if !results.cut => vec![Part::Entry(*id), Part::Entry(results.id)],
        Unit::Calls { id, results, .. } => {
            std::iter::once(Part::Entry(*id)).chain(results.messages.iter().map(|(message, _)| own(message))).collect()
        }
    }
}
