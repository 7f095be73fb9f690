//! What a selector has selected for a model call, for people: `tape context --against`, and over HTTP.

use super::data::Turn;
use crate::imports::stages::Request;
use anyhow::Result;
use bub_tape::Entry;
use bub_types::text::one_line;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Newest entries that are reported: a tape may have millions.
const MAX_ENTRIES: usize = 10_000;

/// Kinds of entries that are sent to a model.
const MODEL_KINDS: [&str; 4] = ["anchor", "message", "tool_call", "tool_result"];

/// A selection, compared with what could be selected.
pub struct SelectionReport {
    /// The name of the selector, or of the rule that replaced it.
    pub selector: String,
    /// The error of the selector, on one line: everything was selected instead.
    pub fallback: Option<String>,
    /// The messages of the request.
    pub messages: usize,
    /// Estimated tokens of each part of the request.
    pub tokens: Vec<(&'static str, u64)>,
    /// How long selecting took.
    pub took: Duration,
    /// Units of fuel that the selector used.
    pub fuel: u64,
    /// Selected entries, unchanged.
    pub entries: BTreeSet<u64>,
    /// Messages that the selector made, as JSON.
    pub own: Vec<String>,
    /// The newest entries that it could select.
    pub window: Vec<Entry>,
    /// Whether there are further ones.
    pub is_cut: bool,
}

impl SelectionReport {
    /// Most entries of [`SelectionReport::window`], before those that are not sent to a model are left out.
    pub const MAX_ENTRIES: usize = MAX_ENTRIES;

    /// The report of a request.
    ///
    /// # Errors
    ///
    /// The tape cannot be read.
    pub async fn new(turn: &Arc<Turn>, request: Request) -> Result<Self> {
        let mut window = request.view.newest(MAX_ENTRIES).await?;
        let is_cut = window.len() == MAX_ENTRIES;
        window.retain(|entry| MODEL_KINDS.contains(&&*entry.kind));
        let system: Vec<String> = request.system().into_iter().collect();
        let (about, selected) = (request.view.about(), &request.selected);
        let selection = &selected.selection;
        let new_messages = selection.new_messages.as_ref().unwrap_or(&about.new_messages);
        let tools = about.tools.iter();
        let tools = tools.map(|tool| bub_estimate::chat::tool(&tool.name, &tool.description, &tool.parameters)).sum();
        let tokens = vec![
            ("system prompt", weigh(&system)),
            ("before", weigh(&selection.before)),
            ("history", weigh(&selection.history)),
            ("current input", weigh(new_messages)),
            ("after", weigh(&selection.after)),
            ("tools", tools),
        ];
        let (selector, fallback) = (selected.by.clone(), selected.fallback.as_deref().map(one_line));
        let (took, fuel) = (selected.took, selected.fuel);
        let known: BTreeSet<u64> = window.iter().map(|entry| entry.id).collect();
        let entries = selection.entries.intersection(&known).copied().collect();
        let own = selection.own.clone();
        let messages = request.into_messages(turn).len();
        Ok(Self { selector, fallback, messages, tokens, took, fuel, entries, own, window, is_cut })
    }

    /// Estimated tokens of the whole request.
    pub fn total(&self) -> u64 {
        self.tokens.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The report as JSON, without the texts of entries.
    pub fn to_json(&self) -> Map<String, Value> {
        let tokens: Map<String, Value> =
            self.tokens.iter().map(|(name, tokens)| (name.replace(' ', "_"), (*tokens).into())).collect();
        let own: Vec<Value> = self.own.iter().filter_map(|message| serde_json::from_str(message).ok()).collect();
        let left_out = self.window.iter().filter(|entry| !self.entries.contains(&entry.id)).map(|entry| entry.id);
        Map::from_iter([
            ("selector".to_owned(), json!(self.selector)),
            ("fallback".to_owned(), json!(self.fallback)),
            ("messages".to_owned(), json!(self.messages)),
            ("tokens".to_owned(), Value::Object(tokens)),
            ("total".to_owned(), json!(self.total())),
            ("micros".to_owned(), json!(u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX))),
            ("fuel".to_owned(), json!(self.fuel)),
            ("entries".to_owned(), json!(self.entries)),
            ("left_out".to_owned(), json!(left_out.collect::<Vec<_>>())),
            ("own".to_owned(), json!(own)),
        ])
    }
}

fn weigh(messages: &[String]) -> u64 {
    let message =
        |message: &String| serde_json::from_str(message).map_or(0, |message| bub_estimate::chat::message(&message));
    messages.iter().map(message).sum()
}
