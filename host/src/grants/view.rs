//! `bub:context/view`: what a selector may look at, and what becomes of its selection.

use super::selection::{Selection, check_request};
use super::tape::{MAX_BATCH, TapeHandle, current, from_query, into_entries, into_hits, into_info};
use crate::plugin::bindings::entries::Hit;
use crate::plugin::bindings::schema::ToolSpec;
use crate::plugin::bindings::selector::{Part, Selected};
use crate::plugin::bindings::view::{Host, HostView};
use crate::plugin::bindings::{Error, ErrorKind, Prompt, entries};
use crate::plugin::store::State;
use crate::plugin::{check_json, contract};
use crate::tape::view::sees;
use crate::tape::{self, Entry, Renderer, Search, Tape, json};
use crate::turn::Turn;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

/// How long a selector may wait for what it looks up, at most.
const MAX_TIMEOUT: Duration = Duration::from_secs(5);

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
    deeds: Arc<Deeds>,
}

/// What the request is about.
pub(crate) struct About {
    pub(crate) prompt: Prompt,
    pub(crate) system_prompt: String,
    pub(crate) model: String,
    /// The user's messages that are not on the tape yet.
    pub(crate) said: Vec<String>,
    /// What the model will be offered.
    pub(crate) tools: Vec<ToolSpec>,
}

/// What one selector has done with its view.
#[derive(Default)]
struct Deeds {
    /// Entries that it was shown: they are not read again to be rendered.
    seen: Mutex<BTreeMap<u64, Entry>>,
    shortened: Mutex<Option<Vec<String>>>,
}

impl View {
    pub(crate) async fn new(turn: &Arc<Turn>, about: About) -> tape::Result<Self> {
        let tape = turn.tape().await?;
        let last = tape.last_id().await?;
        Ok(Self { turn: turn.clone(), tape, last, position: None, about: Arc::new(about), deeds: Arc::default() })
    }

    /// The same view, on which nobody has done anything yet.
    pub(crate) fn anew(&self) -> Self {
        Self { position: None, deeds: Arc::default(), ..self.clone() }
    }

    /// The entries that it has shown, for whoever looks into a selection that broke.
    pub(crate) fn told(&self) -> serde_json::Value {
        let entry = |entry: &Entry| {
            let parts = [&entry.payload, &entry.meta].map(|text| crate::plugin::parse_json(text).unwrap_or_default());
            let [payload, meta] = parts;
            serde_json::json!({ "id": entry.id, "kind": entry.kind, "payload": payload, "meta": meta, "date": entry.date })
        };
        let seen = self.deeds.seen.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::json!({ "entries": seen.values().map(entry).collect::<Vec<_>>() })
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// The whole window.
    async fn window(&self) -> tape::Result<Vec<Entry>> {
        let mut window = self.tape.since_anchor().await?;
        window.retain(|entry| entry.id <= self.last && sees(entry));
        Ok(window)
    }

    /// The newest of the window.
    pub(crate) async fn newest(&self, max: usize) -> tape::Result<Vec<Entry>> {
        self.backward(None, max).await
    }

    /// The whole window as it stands: what holds when no selector selects.
    pub(crate) async fn all(&self) -> tape::Result<Selection> {
        Ok(Selection::of(&self.window().await?))
    }

    /// Nothing of what was said before this turn: its own entries alone.
    pub(crate) async fn own(&self) -> tape::Result<Selection> {
        let mut window = self.window().await?;
        window.retain(|entry| entry.id > self.turn.began());
        Ok(Selection::of(&window))
    }

    /// Renders what a guest selected, and checks it. The host renders entries itself: the bytes of the tape reach the model
    /// untouched, and each message has its origin.
    pub(crate) async fn accept(&self, selected: Selected) -> Result<Selection> {
        self.turn.hold(selected.notes.len())?;
        let notes =
            crate::plugin::parse_json(&selected.notes).map_err(|reason| contract(format!("its notes are {reason}")))?;
        let mut selection = Selection {
            system_prompt: selected.system_prompt,
            notes: notes.as_object().filter(|notes| !notes.is_empty()).cloned(),
            said: self.deeds.shortened.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            ..Selection::default()
        };
        selection.before = self.render(selected.before, &mut selection).await?;
        selection.history = self.render(selected.history, &mut selection).await?;
        selection.after = self.render(selected.after, &mut selection).await?;
        if let Err(reason) = self.check(&selection).await.map_err(wasmtime::Error::new)? {
            return Err(contract(reason));
        }
        Ok(selection)
    }

    /// Whether a model would take it. What is wrong with the tape itself is not the selector's fault.
    async fn check(&self, selection: &Selection) -> tape::Result<std::result::Result<(), String>> {
        let own = self.tape.read(self.turn.began(), OWN).await?;
        let own = own.iter().find(|entry| entry.id <= self.last && is_said(entry));
        let checked = check_request(selection, &self.about.said, own);
        match checked {
            Err(reason) if check_request(&self.all().await?, &self.about.said, own).is_ok() => Ok(Err(reason)),
            _ => Ok(Ok(())),
        }
    }

    async fn render(&self, parts: Vec<Part>, selection: &mut Selection) -> Result<Vec<String>> {
        let mut renderer = Renderer::new();
        for part in parts {
            match part {
                Part::Entry(id) => {
                    selection.entries.insert(id);
                    let seen = self.deeds.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
                    let entry = match seen {
                        Some(entry) => entry,
                        None => self.beyond(id).await?,
                    };
                    renderer.push(&entry);
                }
                Part::Message(message) => {
                    check_json(&message).map_err(|reason| contract(format!("a message of its own is {reason}")))?;
                    renderer.push_message(&message).map_err(|error| contract(error.to_string()))?;
                    selection.own.push(message);
                }
            }
        }
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

    /// The next entries of the window.
    async fn forward(&mut self, max: usize) -> tape::Result<Vec<Entry>> {
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
            let Some(end) = page.last() else { break };
            position = end.id;
            found.extend(page.into_iter().filter(|entry| entry.id <= self.last && sees(entry)));
            if position >= self.last {
                break;
            }
        }
        self.position = Some(position);
        self.remember(&found);
        Ok(found)
    }

    /// The window from its end.
    async fn backward(&self, before: Option<u64>, max: usize) -> tape::Result<Vec<Entry>> {
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
        self.remember(&newest_first);
        Ok(newest_first)
    }

    fn remember(&self, entries: &[Entry]) {
        let mut seen = self.deeds.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(entries.iter().map(|entry| (entry.id, entry.clone())));
    }

    fn shorten(&self, messages: Vec<String>) -> std::result::Result<(), Error> {
        let (given, said) = (messages.len(), self.about.said.len());
        if given != said {
            return Err(Error::invalid(format!("{given} messages cannot stand in place of {said}")));
        }
        for message in &messages {
            check_json(message).map_err(|reason| Error::invalid(format!("a message is {reason}")))?;
            if json::get(message, "role").and_then(json::string).as_deref() != Some("user") {
                return Err(Error::invalid("what stands in place of a user message is one itself"));
            }
        }
        *self.deeds.shortened.lock().unwrap_or_else(PoisonError::into_inner) = Some(messages);
        Ok(())
    }
}

fn is_said(entry: &Entry) -> bool {
    entry.kind == "message" && json::get(&entry.payload, "role") == Some(r#""user""#)
}

impl Host for State {}

impl HostView for State {
    async fn next(&mut self, view: Resource<View>, max: u32) -> Result<Result<Vec<entries::Entry>, Error>> {
        let view = self.table.get_mut(&view)?;
        let batch = view.forward(max.min(MAX_BATCH) as usize).await;
        Ok(batch.map(|batch| into_entries(&view.turn, batch)).map_err(Error::from))
    }

    async fn tail(
        &mut self,
        view: Resource<View>,
        before: Option<u64>,
        max: u32,
    ) -> Result<Result<Vec<entries::Entry>, Error>> {
        let view = self.table.get(&view)?.clone();
        let batch = view.backward(before, max.min(MAX_BATCH) as usize).await;
        Ok(batch.map(|batch| into_entries(&view.turn, batch)).map_err(Error::from))
    }

    async fn search(
        &mut self,
        view: Resource<View>,
        text: String,
        max: u32,
        timeout_ms: u32,
    ) -> Result<Result<Vec<Hit>, Error>> {
        let View { tape, turn, .. } = self.table.get(&view)?.clone();
        let current = match current(&tape).await {
            Ok(current) => current,
            Err(error) => return Ok(Err(error.into())),
        };
        let search = Search {
            current,
            text,
            limit: max.min(MAX_BATCH) as usize,
            patience: Some(Duration::from_millis(timeout_ms.into())),
            ..Search::default()
        };
        Ok(tape.search(&search).await.map(|hits| into_hits(&turn, hits)).map_err(Error::from))
    }

    async fn query(
        &mut self,
        view: Resource<View>,
        sidecar: Option<String>,
        query: entries::Query,
        max: u32,
        timeout_ms: u32,
    ) -> Result<Result<Vec<entries::Entry>, Error>> {
        let View { tape, turn, .. } = self.table.get(&view)?.clone();
        let tape = match sidecar {
            None => tape,
            Some(name) => match self.owns_sidecar(&name).and_then(|()| Ok(tape.sidecar(&name)?)) {
                Ok(sidecar) => sidecar,
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        let timeout = Duration::from_millis(timeout_ms.into()).min(MAX_TIMEOUT);
        let found = tokio::time::timeout(timeout, async {
            tape.cursor(&from_query(query)).await?.next(max.min(MAX_BATCH) as usize).await
        });
        Ok(match found.await {
            Ok(found) => found.map(|found| into_entries(&turn, found)).map_err(Error::from),
            Err(_) => Err(Error::new(ErrorKind::Temporary, format!("it was not there within {timeout_ms} ms"))),
        })
    }

    async fn sidecar(&mut self, view: Resource<View>, name: String) -> Result<Result<Resource<TapeHandle>, Error>> {
        if let Err(refusal) = self.owns_sidecar(&name) {
            return Ok(Err(refusal));
        }
        let view = self.table.get(&view)?;
        match view.tape.sidecar(&name) {
            Ok(sidecar) => {
                let handle = TapeHandle::new(sidecar, view.turn.clone());
                Ok(Ok(self.table.push(handle)?))
            }
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn info(&mut self, view: Resource<View>) -> Result<entries::Info> {
        let tape = self.table.get(&view)?.tape.clone();
        Ok(into_info(tape.info().await.map_err(wasmtime::Error::new)?))
    }

    async fn prompt(&mut self, view: Resource<View>) -> Result<Prompt> {
        Ok(self.table.get(&view)?.about.prompt.clone())
    }

    async fn system_prompt(&mut self, view: Resource<View>) -> Result<String> {
        Ok(self.table.get(&view)?.about.system_prompt.clone())
    }

    async fn model(&mut self, view: Resource<View>) -> Result<String> {
        Ok(self.table.get(&view)?.about.model.clone())
    }

    async fn budget(&mut self, view: Resource<View>) -> Result<Option<u32>> {
        Ok(self.host.config.room(&self.table.get(&view)?.about.model))
    }

    async fn ratio(&mut self, view: Resource<View>) -> Result<f64> {
        let view = self.table.get(&view)?;
        Ok(view.turn.ratio(&view.about.model).value())
    }

    async fn began(&mut self, view: Resource<View>) -> Result<u64> {
        Ok(self.table.get(&view)?.turn.began())
    }

    async fn said(&mut self, view: Resource<View>) -> Result<Vec<String>> {
        Ok(self.table.get(&view)?.about.said.clone())
    }

    async fn shorten(&mut self, view: Resource<View>, messages: Vec<String>) -> Result<Result<(), Error>> {
        let view = self.table.get(&view)?.clone();
        view.turn.hold(messages.iter().map(String::len).sum())?;
        Ok(view.shorten(messages))
    }

    async fn tools(&mut self, view: Resource<View>) -> Result<Vec<ToolSpec>> {
        Ok(self.table.get(&view)?.about.tools.clone())
    }

    async fn state(&mut self, view: Resource<View>, key: String) -> Result<Option<String>> {
        Ok(self.table.get(&view)?.turn.get(&key).map(|value| value.to_string()))
    }

    async fn drop(&mut self, view: Resource<View>) -> Result<()> {
        self.table.delete(view)?;
        Ok(())
    }
}
