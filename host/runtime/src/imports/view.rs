//! `bub:context/view`: what a selector can read, and how its selection is applied.

mod served;

use super::selection::{MessageOrigin, Selection, check_request};
use super::tape::taint;
use crate::plugin::bindings::selector::{Part, Selected};
use crate::plugin::{check_json, contract};
use crate::turn::{SystemPrompt, Turn};
use bub_tape::view::sees;
use bub_tape::{Entry, Renderer, Tape, json};
use bub_types::ToolSpec;
use bub_types::{Error, Prompt};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::Result;

/// How far behind its beginning a turn's own first message is looked for, in entries.
const OWN: usize = 32;

/// A tape seen from its latest anchor, for one model call, as it is when the view is made. Nothing is read before a
/// selector asks for it: what it costs is what is looked at.
#[derive(Clone)]
pub struct View {
    turn: Arc<Turn>,
    tape: Tape,
    /// The last entry that is seen.
    last: u64,
    /// Behind which entry `next` goes on; none before it was asked.
    position: Option<u64>,
    about: Arc<About>,
    trace: Arc<SelectionTrace>,
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
    /// What the model will be offered.
    pub tools: Vec<Arc<ToolSpec>>,
}

/// Records what a selector did with its view.
#[derive(Default)]
struct SelectionTrace {
    /// Entries that it was shown: they are not read again to be rendered.
    seen: Mutex<BTreeMap<u64, Entry>>,
    replaced: Mutex<Option<Vec<String>>>,
    /// It was shown the whole window.
    saw_all: AtomicBool,
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
            let parts = [&entry.payload, &entry.meta].map(|text| crate::plugin::parse_json(text).unwrap_or_default());
            let [payload, meta] = parts;
            serde_json::json!({ "id": entry.id, "kind": *entry.kind, "payload": payload, "meta": meta, "date": *entry.date })
        };
        let seen = self.trace.seen.lock();
        serde_json::json!({ "entries": seen.values().map(entry).collect::<Vec<_>>() })
    }

    /// The turn that messages are selected for.
    pub(super) fn turn(&self) -> &Arc<Turn> {
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
        Ok(Selection::of(&self.window().await?))
    }

    /// Nothing of what was said before this turn: its own entries alone.
    pub async fn own(&self) -> bub_tape::Result<Selection> {
        let mut window = self.window().await?;
        window.retain(|entry| entry.id > self.turn.began());
        Ok(Selection::of(&window))
    }

    /// Renders what a guest selected, and checks it. The host renders entries itself: the bytes of the tape reach the model
    /// untouched, and each message has its origin.
    pub async fn accept(&self, selected: Selected) -> Result<Selection> {
        self.turn.charge_memory(selected.notes.len())?;
        let is_everything = self.is_everything(&selected);
        let notes =
            crate::plugin::parse_json(&selected.notes).map_err(|reason| contract(format!("its notes are {reason}")))?;
        let mut selection = Selection {
            system_prompt: selected.system_prompt,
            notes: notes.as_object().filter(|notes| !notes.is_empty()).cloned(),
            new_messages: self.trace.replaced.lock().clone(),
            ..Selection::default()
        };
        selection.before = self.render("before", selected.before, &mut selection).await?;
        selection.history = self.render("history", selected.history, &mut selection).await?;
        selection.after = self.render("after", selected.after, &mut selection).await?;
        if !is_everything && let Err(reason) = self.check(&selection).await.map_err(wasmtime::Error::new)? {
            return Err(contract(reason));
        }
        Ok(selection)
    }

    /// Whether the selection is the window as it stands: what is wrong with it is wrong with the tape.
    fn is_everything(&self, selected: &Selected) -> bool {
        let seen = self.trace.seen.lock();
        let is_shortened = self.trace.replaced.lock().is_some();
        let mut in_order = selected.history.iter().zip(seen.keys());
        self.trace.saw_all.load(Ordering::Relaxed)
            && !is_shortened
            && selected.before.is_empty()
            && selected.after.is_empty()
            && selected.history.len() == seen.len()
            && in_order.all(|(part, id)| matches!(part, Part::Entry(selected) if selected == id))
    }

    /// Whether a model would take it. What is wrong with the tape itself is not the selector's fault.
    async fn check(&self, selection: &Selection) -> bub_tape::Result<std::result::Result<(), String>> {
        let own = self.tape.read(self.turn.began(), OWN).await?;
        let own = own.iter().find(|entry| entry.id <= self.last && is_said(entry));
        let checked = check_request(selection, &self.about.new_messages, own);
        match checked {
            Err(reason) if check_request(&self.all().await?, &self.about.new_messages, own).is_ok() => Ok(Err(reason)),
            _ => Ok(Ok(())),
        }
    }

    async fn render(&self, list: &'static str, parts: Vec<Part>, selection: &mut Selection) -> Result<Vec<String>> {
        let mut renderer = Renderer::new();
        for (at, part) in parts.into_iter().enumerate() {
            let origin = match part {
                Part::Entry(id) => MessageOrigin::Entry(id),
                Part::Message(_) => MessageOrigin::Own { list, at },
            };
            match part {
                Part::Entry(id) => {
                    selection.entries.insert(id);
                    let seen = || self.trace.seen.lock();
                    let known = seen().get(&id).map(|entry| match self.turn.piece(entry) {
                        Some(piece) => renderer.add(&piece),
                        None => renderer.push(entry),
                    });
                    if known.is_none() {
                        let entry = self.beyond(id).await?;
                        self.turn.reads(&self.tape, std::slice::from_ref(&entry));
                        renderer.push(&entry);
                    }
                }
                Part::Message(message) => {
                    let which = || origin.to_string();
                    check_json(&message).map_err(|reason| contract(format!("{} is {reason}", which())))?;
                    renderer.push_message(&message).map_err(|error| contract(format!("{}: {error}", which())))?;
                    selection.own.push(message);
                }
            }
            let missing = selection.known + renderer.count() - selection.origins.len();
            selection.origins.extend(std::iter::repeat_n(origin, missing));
        }
        selection.known += renderer.count();
        Ok(renderer.finish())
    }

    /// An entry that it was not shown: something that it found by its search, or knows of.
    async fn beyond(&self, id: u64) -> Result<Entry> {
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
    async fn forward(&mut self, max: usize) -> bub_tape::Result<Vec<Entry>> {
        let found = self.further(max).await?;
        self.remember(found.iter().cloned());
        Ok(found)
    }

    /// The ids of the next entries of the window. What is selected of them reaches the model all the same, so what is
    /// tainted in them taints the turn.
    async fn forward_unseen(&mut self, max: usize) -> bub_tape::Result<Vec<u64>> {
        let found = self.further(max).await?;
        found.iter().for_each(|entry| taint(&self.turn, entry));
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
    async fn backward(&self, before: Option<u64>, max: usize) -> bub_tape::Result<Vec<Entry>> {
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

    fn replace_new_messages(&self, messages: Vec<String>) -> std::result::Result<(), Error> {
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

fn is_said(entry: &Entry) -> bool {
    entry.is("message") && json::get(&entry.payload, "role") == Some(r#""user""#)
}
