//! A tape as a selector sees it, for one model call.

use super::selection::Selection;
use crate::plugin::{check_json, contract, parse_json};
use crate::turn::{SystemPrompt, Turn};
use bub_tape::view::sees;
use bub_tape::{Entry, Tape, json};
use bub_types::ToolSpec;
use bub_types::{Error, Prompt};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::Result;

/// A tape seen from its latest anchor, for one model call, as it is when the view is made. Nothing is read before a
/// selector asks for it: what it costs is what is looked at.
#[derive(Clone)]
pub struct View {
    pub(crate) turn: Arc<Turn>,
    pub(crate) tape: Tape,
    /// The last entry that is seen.
    pub(crate) last: u64,
    /// Behind which entry `next` goes on; none before it was asked.
    pub(crate) position: Option<u64>,
    pub(crate) about: Arc<About>,
    pub(crate) trace: Arc<SelectionTrace>,
}

/// The request that messages are selected for.
pub struct About {
    /// The prompt of this step.
    pub prompt: Prompt,
    /// The system prompt, as the agent loop sends it.
    pub system: SystemPrompt,
    /// The model's name.
    pub model: String,
    /// The user's messages that are not on the tape yet.
    pub new_messages: Vec<String>,
    /// The tools that the model will be offered.
    pub tools: Vec<Arc<ToolSpec>>,
}

/// Records what a selector did with its view.
#[derive(Default)]
pub(crate) struct SelectionTrace {
    /// Entries that it was shown: they are not read again to be rendered.
    pub(crate) seen: Mutex<BTreeMap<u64, Entry>>,
    pub(crate) replaced: Mutex<Option<Vec<String>>>,
    /// It was shown the whole window.
    pub(crate) saw_all: AtomicBool,
}

impl View {
    /// A view of the turn's tape as it is at this moment.
    pub async fn new(turn: &Arc<Turn>, about: About) -> bub_tape::Result<Self> {
        let tape = turn.tape().await?;
        let last = tape.last_id().await?;
        Ok(Self { turn: turn.clone(), tape, last, position: None, about: Arc::new(about), trace: Arc::default() })
    }

    /// The same view with an empty trace.
    pub fn fresh(&self) -> Self {
        Self { position: None, trace: Arc::default(), ..self.clone() }
    }

    /// The entries that it has shown, for crash reports.
    pub fn snapshot(&self) -> serde_json::Value {
        let entry = |entry: &Entry| {
            let parts = [&entry.payload, &entry.meta].map(|text| parse_json(text).unwrap_or_default());
            let [payload, meta] = parts;
            serde_json::json!({ "id": entry.id, "kind": *entry.kind, "payload": payload, "meta": meta, "date": *entry.date })
        };
        let seen = self.trace.seen.lock();
        serde_json::json!({ "entries": seen.values().map(entry).collect::<Vec<_>>() })
    }

    /// The turn that messages are selected for.
    pub(crate) fn turn(&self) -> &Arc<Turn> {
        &self.turn
    }

    /// The request that messages are selected for.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The whole window.
    async fn window(&self) -> bub_tape::Result<Vec<Entry>> {
        let mut window = self.tape.since_anchor().await?;
        window.retain(|entry| entry.id <= self.last && sees(entry));
        Ok(window)
    }

    /// The newest of the window.
    pub async fn newest(&self, max: usize) -> bub_tape::Result<Vec<Entry>> {
        self.backward(None, max).await
    }

    /// The whole window as it stands: what holds when no selector selects.
    pub async fn all(&self) -> bub_tape::Result<Selection> {
        Ok(Selection::from_entries(&self.window().await?))
    }

    /// The turn's own entries, without earlier ones.
    pub async fn own(&self) -> bub_tape::Result<Selection> {
        let mut window = self.window().await?;
        window.retain(|entry| entry.id > self.turn.began());
        Ok(Selection::from_entries(&window))
    }

    /// An entry that it was not shown: something that it found by its search, or knows of.
    pub(crate) async fn beyond(&self, id: u64) -> Result<Entry> {
        let found = match id.checked_sub(1) {
            Some(before) => self.tape.read(before, 1).await.map_err(wasmtime::Error::new)?,
            None => Vec::new(),
        };
        found
            .into_iter()
            .find(|entry| entry.id == id)
            .ok_or_else(|| contract(format!("it selected entry {id}, which is not on the tape")))
    }

    /// The next entries of the window, remembered.
    pub(crate) async fn forward(&mut self, max: usize) -> bub_tape::Result<Vec<Entry>> {
        let found = self.further(max).await?;
        self.remember(found.iter().cloned());
        Ok(found)
    }

    /// The ids of the next entries of the window. The selected ones reach the model all the same, so tainted entries
    /// among them taint the turn.
    pub(crate) async fn forward_unseen(&mut self, max: usize) -> bub_tape::Result<Vec<u64>> {
        let found = self.further(max).await?;
        found.iter().for_each(|entry| self.turn.taint_by_entry(entry));
        let ids = found.iter().map(|entry| entry.id).collect();
        self.remember(found);
        Ok(ids)
    }

    async fn further(&mut self, max: usize) -> bub_tape::Result<Vec<Entry>> {
        let mut position = match self.position {
            Some(position) => position,
            None => {
                let anchor = self.tape.last_anchor(None, Some(self.last.saturating_add(1))).await?;
                anchor.map_or(0, |anchor| anchor.id.saturating_sub(1))
            }
        };
        let mut found = Vec::new();
        while found.len() < max {
            let page = self.tape.read(position, max - found.len()).await?;
            let end = page.last().map(|entry| entry.id);
            position = end.unwrap_or(position);
            let seen = page.into_iter().filter(|entry| entry.id <= self.last && sees(entry));
            match found.is_empty() {
                // Most have one page, whose place is used again.
                true => found = seen.collect(),
                false => found.extend(seen),
            }
            if end.is_none_or(|end| end >= self.last) {
                self.trace.saw_all.store(true, Ordering::Relaxed);
                break;
            }
        }
        self.position = Some(position);
        Ok(found)
    }

    /// The window from its end.
    pub(crate) async fn backward(&self, before: Option<u64>, max: usize) -> bub_tape::Result<Vec<Entry>> {
        let mut before = before.unwrap_or(u64::MAX).min(self.last.saturating_add(1));
        let mut newest_first = Vec::new();
        'window: while newest_first.len() < max {
            let page = self.tape.tail(Some(before), max - newest_first.len()).await?;
            let Some(first) = page.first() else { break };
            before = first.id;
            for entry in page.into_iter().rev() {
                let begins = entry.begins_phase();
                if sees(&entry) {
                    newest_first.push(entry);
                }
                if begins {
                    break 'window;
                }
            }
        }
        newest_first.reverse();
        self.remember(newest_first.iter().cloned());
        Ok(newest_first)
    }

    fn remember(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut seen = self.trace.seen.lock();
        seen.append(&mut entries.into_iter().map(|entry| (entry.id, entry)).collect());
    }

    pub(crate) fn replace_new_messages(&self, messages: Vec<String>) -> std::result::Result<(), Error> {
        let (given, new_messages) = (messages.len(), self.about.new_messages.len());
        if given != new_messages {
            return Err(Error::invalid(format!("{given} messages cannot stand in place of {new_messages}")));
        }
        for message in &messages {
            check_json(message).map_err(|reason| Error::invalid(format!("a message is {reason}")))?;
            if json::get(message, "role").and_then(json::string).as_deref() != Some("user") {
                return Err(Error::invalid("what stands in place of a user message is one itself"));
            }
        }
        *self.trace.replaced.lock() = Some(messages);
        Ok(())
    }
}
