//! `bub:context/view`: what a selector may look at, and what becomes of its selection.

use super::tape::{MAX_BATCH, TapeHandle, current, into_entries, into_hits, into_info};
use crate::plugin::bindings::entries::Hit;
use crate::plugin::bindings::selector::{Part, Selected};
use crate::plugin::bindings::view::{Host, HostView};
use crate::plugin::bindings::{Error, Prompt, entries};
use crate::plugin::store::State;
use crate::plugin::{check_json, contract};
use crate::tape::{Entry, Renderer, Search, Tape};
use crate::turn::{TAINTED, Turn};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

/// A tape seen from its latest anchor, for one model call. Each selector gets its own, at the beginning.
#[derive(Clone)]
pub struct View {
    turn: Arc<Turn>,
    tape: Tape,
    window: Arc<[Entry]>,
    position: usize,
    prompt: Prompt,
    system_prompt: Arc<str>,
    model: Arc<str>,
}

/// A selection as messages, each a JSON object.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) system_prompt: Option<String>,
    pub(crate) before: Vec<String>,
    pub(crate) history: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) notes: Option<serde_json::Value>,
}

impl View {
    pub(crate) async fn new(
        turn: &Arc<Turn>,
        prompt: &Prompt,
        system_prompt: &str,
        model: &str,
    ) -> crate::tape::Result<Self> {
        let tape = turn.tape().await?;
        let mut window = tape.since_anchor().await?;
        if window.iter().any(|entry| entry.event_name().as_deref() == Some(TAINTED)) {
            turn.taint(|| "an earlier turn of this conversation was tainted".to_owned());
        }
        window.retain(crate::tape::view::sees);
        let window = window.into();
        Ok(Self {
            turn: turn.clone(),
            tape,
            window,
            position: 0,
            prompt: prompt.clone(),
            system_prompt: system_prompt.into(),
            model: model.into(),
        })
    }

    /// The whole window: what holds when no selector selects.
    pub(crate) fn all(&self) -> Selection {
        let mut renderer = Renderer::new();
        self.window.iter().for_each(|entry| renderer.push(entry));
        Selection { history: renderer.finish(), ..Selection::default() }
    }

    /// The entries that it shows, for whoever looks into a selection that broke.
    pub(crate) fn told(&self) -> serde_json::Value {
        let entry = |entry: &Entry| {
            let parts = [&entry.payload, &entry.meta].map(|text| crate::plugin::parse_json(text).unwrap_or_default());
            let [payload, meta] = parts;
            serde_json::json!({ "id": entry.id, "kind": entry.kind, "payload": payload, "meta": meta, "date": entry.date })
        };
        serde_json::json!({ "entries": self.window.iter().map(entry).collect::<Vec<_>>() })
    }

    /// Renders what a guest selected. The host renders entries itself: the bytes of the tape reach the model untouched,
    /// and each message has its origin.
    pub(crate) async fn accept(&self, selected: Selected) -> Result<Selection> {
        self.turn.hold(selected.notes.len())?;
        let notes =
            crate::plugin::parse_json(&selected.notes).map_err(|reason| contract(format!("its notes are {reason}")))?;
        Ok(Selection {
            system_prompt: selected.system_prompt,
            before: self.render(selected.before).await?,
            history: self.render(selected.history).await?,
            after: self.render(selected.after).await?,
            notes: notes.as_object().is_some_and(|notes| !notes.is_empty()).then_some(notes),
        })
    }

    async fn render(&self, parts: Vec<Part>) -> Result<Vec<String>> {
        let mut renderer = Renderer::new();
        for part in parts {
            match part {
                Part::Entry(id) => match self.window.binary_search_by_key(&id, |entry| entry.id) {
                    Ok(at) => self.window.get(at).into_iter().for_each(|entry| renderer.push(entry)),
                    Err(_) => renderer.push(&self.beyond(id).await?),
                },
                Part::Message(message) => {
                    check_json(&message).map_err(|reason| contract(format!("a message of its own is {reason}")))?;
                    renderer.push_message(&message).map_err(|error| contract(error.to_string()))?;
                }
            }
        }
        Ok(renderer.finish())
    }

    /// An entry outside the window: something that the selector found by its search.
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
}

impl Host for State {}

impl HostView for State {
    async fn next(&mut self, view: Resource<View>, max: u32) -> Result<Result<Vec<entries::Entry>, Error>> {
        let view = self.table.get_mut(&view)?;
        let rest = view.window.get(view.position..).unwrap_or_default();
        let batch = rest.get(..(max.min(MAX_BATCH) as usize)).unwrap_or(rest).to_vec();
        view.position += batch.len();
        Ok(Ok(into_entries(&view.turn, batch)))
    }

    async fn tail(
        &mut self,
        view: Resource<View>,
        before: Option<u64>,
        max: u32,
    ) -> Result<Result<Vec<entries::Entry>, Error>> {
        let View { window, turn, .. } = self.table.get(&view)?;
        let end = before.map_or(window.len(), |id| window.partition_point(|entry| entry.id < id));
        let start = end.saturating_sub(max.min(MAX_BATCH) as usize);
        Ok(Ok(into_entries(turn, window.get(start..end).unwrap_or_default().to_vec())))
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
        Ok(self.table.get(&view)?.prompt.clone())
    }

    async fn system_prompt(&mut self, view: Resource<View>) -> Result<String> {
        Ok(self.table.get(&view)?.system_prompt.to_string())
    }

    async fn model(&mut self, view: Resource<View>) -> Result<String> {
        Ok(self.table.get(&view)?.model.to_string())
    }

    async fn budget(&mut self, view: Resource<View>) -> Result<Option<u32>> {
        let window = crate::model::window(&self.table.get(&view)?.model);
        let answer = u32::try_from(self.host.config.model.max_tokens).unwrap_or(u32::MAX);
        Ok(window.map(|window| window.saturating_sub(answer)))
    }

    async fn state(&mut self, view: Resource<View>, key: String) -> Result<Option<String>> {
        Ok(self.table.get(&view)?.turn.get(&key).map(|value| value.to_string()))
    }

    async fn drop(&mut self, view: Resource<View>) -> Result<()> {
        self.table.delete(view)?;
        Ok(())
    }
}
