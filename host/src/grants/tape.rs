//! `bub:tape/tape`: the tapes that a guest has been handed.

use crate::plugin::bindings::Error;
use crate::plugin::bindings::entries::{self, Draft, Entry, Hit, Info};
use crate::plugin::bindings::tape::{Host, HostCursor, HostTape};
use crate::plugin::store::State;
use crate::tape::{self, Tape, json};
use crate::turn::Turn;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

/// A tape in a guest's hands.
pub struct TapeHandle {
    tape: Tape,
    /// The turn that the guest has it for: it knows which run ids it gave out.
    turn: Arc<Turn>,
}

impl TapeHandle {
    pub(crate) fn new(tape: Tape, turn: Arc<Turn>) -> Self {
        Self { tape, turn }
    }
}

/// A position in a result. It holds what it reads from, so that it outlives the handle it came from.
pub struct Cursor {
    cursor: tape::Cursor,
    turn: Arc<Turn>,
}

/// Entries that cross at once, whatever a guest asks for.
pub(crate) const MAX_BATCH: u32 = 256;

/// How deep forks of forks may go, the turn's own included: a read passes through all of them.
const MAX_FORKS: usize = 8;

impl Host for State {}
impl entries::Host for State {}

impl State {
    fn tape_of(&self, handle: &Resource<TapeHandle>) -> Result<(Tape, Arc<Turn>)> {
        let handle = self.table.get(handle)?;
        Ok((handle.tape.clone(), handle.turn.clone()))
    }

    /// Refuses unless that sidecar is the plugin's own: it has the plugin's name, alone or in front of a dot.
    pub(super) fn owns_sidecar(&self, name: &str) -> Result<(), Error> {
        if !self.holds("tape:append") {
            self.granted("tape:event")?;
        }
        let own = name.strip_prefix(&*self.plugin.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        // Bub keeps what its builtin tools spill under this name, on the same tapes.
        if own || (name == "spill" && self.plugin.name == "builtin") {
            return Ok(());
        }
        Err(Error::denied(format!(
            "the sidecar `{name}` is not plugin `{0}`'s: its own are called `{0}` or `{0}.NAME`",
            self.plugin.name
        )))
    }

    /// The drafts as they will stand: checked, and with the host's own words in their meta.
    fn sign(&self, turn: &Turn, drafts: Vec<Draft>) -> Result<Vec<tape::Draft>, Error> {
        let only_events = drafts.iter().all(|draft| draft.kind == "event");
        if !(only_events && self.holds("tape:append")) {
            self.granted(if only_events { "tape:event" } else { "tape:append" })?;
        }
        drafts.into_iter().map(|draft| self.sign_one(turn, &draft)).collect()
    }

    fn sign_one(&self, turn: &Turn, draft: &Draft) -> Result<tape::Draft, Error> {
        let payload = match draft.kind.as_str() {
            // What the tape keeps is the media themselves: marks are a turn's own.
            "message" => turn.calls.media.fill_in(&draft.payload)?,
            _ => Cow::Borrowed(&*draft.payload),
        };
        let mut signed = tape::Draft::new(&draft.kind, &payload, &draft.meta)?;
        if json::get(&draft.meta, "plugin").is_some() {
            return Err(Error::denied("`plugin` in an entry's meta is the host's to write"));
        }
        if let Some(id) = json::get(&draft.meta, "run_id") {
            let given = json::string(id).is_some_and(|id| turn.gave_run_id(&id));
            if !given {
                return Err(Error::invalid(format!("the run id {id} was not given out by this turn")));
            }
        }
        // The record of the turn is the model hook's own; whatever anybody else writes carries a name.
        if !turn.speaks(&self.plugin.name) {
            signed = signed.with_meta("plugin", &json::quote(&self.plugin.name))?;
        }
        Ok(signed)
    }
}

impl HostTape for State {
    async fn name(&mut self, handle: Resource<TapeHandle>) -> Result<String> {
        Ok(self.table.get(&handle)?.tape.name().to_owned())
    }

    async fn info(&mut self, handle: Resource<TapeHandle>) -> Result<Result<Info, Error>> {
        let (tape, _) = self.tape_of(&handle)?;
        Ok(tape.info().await.map(into_info).map_err(Error::from))
    }

    async fn append(&mut self, handle: Resource<TapeHandle>, drafts: Vec<Draft>) -> Result<Result<u64, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        turn.hold(weight(&turn, &drafts))?;
        Ok(match self.sign(&turn, drafts) {
            Ok(drafts) => tape.append(drafts).await.map_err(Error::from),
            Err(error) => Err(error),
        })
    }

    async fn append_if(
        &mut self,
        handle: Resource<TapeHandle>,
        last: u64,
        drafts: Vec<Draft>,
    ) -> Result<Result<u64, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        turn.hold(weight(&turn, &drafts))?;
        Ok(match self.sign(&turn, drafts) {
            Ok(drafts) => tape.append_direct(last, drafts).await.map_err(Error::from),
            Err(error) => Err(error),
        })
    }

    async fn handoff(
        &mut self,
        handle: Resource<TapeHandle>,
        name: String,
        state: Option<String>,
    ) -> Result<Result<u64, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        // It stands there twice: in the anchor and in the event that says so.
        turn.hold(2 * (name.len() + state.as_ref().map_or(0, String::len)))?;
        let drafts = match tape::handoff(&name, state.as_deref()) {
            Ok(drafts) => drafts,
            Err(error) => return Ok(Err(error.into())),
        };
        let drafts = drafts.iter().map(|draft| Draft {
            kind: draft.kind().to_owned(),
            payload: draft.payload().to_owned(),
            meta: draft.meta().to_owned(),
        });
        Ok(match self.sign(&turn, drafts.collect()) {
            Ok(drafts) => tape.append(drafts).await.map_err(Error::from),
            Err(error) => Err(error),
        })
    }

    async fn query(
        &mut self,
        handle: Resource<TapeHandle>,
        query: entries::Query,
    ) -> Result<Result<Resource<Cursor>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        match tape.cursor(&from_query(query)).await {
            Ok(cursor) => Ok(Ok(self.table.push(Cursor { cursor, turn })?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn search(
        &mut self,
        handle: Resource<TapeHandle>,
        search: entries::Search,
    ) -> Result<Result<Vec<Hit>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        let search = tape::Search {
            text: search.text,
            kinds: search.kinds,
            since: search.since,
            until: search.until,
            limit: search.limit.min(MAX_BATCH) as usize,
            patience: search.patience.map(|patience| Duration::from_millis(patience.into())),
        };
        Ok(tape.search(&search).await.map(|hits| into_hits(&turn, hits)).map_err(Error::from))
    }

    async fn tail(
        &mut self,
        handle: Resource<TapeHandle>,
        before: Option<u64>,
        max: u32,
    ) -> Result<Result<Vec<Entry>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        let entries = tape.tail(before, max.min(MAX_BATCH) as usize).await;
        Ok(entries.map(|entries| into_entries(&turn, entries)).map_err(Error::from))
    }

    async fn last_anchor(
        &mut self,
        handle: Resource<TapeHandle>,
        name: Option<String>,
        before: Option<u64>,
    ) -> Result<Result<Option<Entry>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        let anchor = tape.last_anchor(name.as_deref(), before).await;
        Ok(anchor.map(|entry| entry.map(|entry| into_entry(&turn, entry))).map_err(Error::from))
    }

    async fn fork(&mut self, handle: Resource<TapeHandle>) -> Result<Result<Resource<TapeHandle>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        if tape.depth() >= MAX_FORKS {
            return Ok(Err(Error::invalid(format!("forks of forks may go {MAX_FORKS} deep, no deeper"))));
        }
        Ok(Ok(self.table.push(TapeHandle::new(tape.fork(), turn))?))
    }

    async fn merge(&mut self, handle: Resource<TapeHandle>) -> Result<Result<(), Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        if turn.owns(&tape) {
            return Ok(Err(Error::invalid("the turn's own tape is merged by the host, when the turn ends")));
        }
        Ok(tape.merge().await.map_err(Error::from))
    }

    async fn reset(&mut self, handle: Resource<TapeHandle>, archive: bool) -> Result<Result<Option<String>, Error>> {
        if let Err(refusal) = self.granted("tape:reset") {
            return Ok(Err(refusal));
        }
        let (tape, _) = self.tape_of(&handle)?;
        Ok(tape.reset(archive).await.map_err(Error::from))
    }

    async fn sidecar(
        &mut self,
        handle: Resource<TapeHandle>,
        name: String,
    ) -> Result<Result<Resource<TapeHandle>, Error>> {
        if let Err(refusal) = self.owns_sidecar(&name) {
            return Ok(Err(refusal));
        }
        let (tape, turn) = self.tape_of(&handle)?;
        match tape.sidecar(&name) {
            Ok(sidecar) => Ok(Ok(self.table.push(TapeHandle::new(sidecar, turn))?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn drop(&mut self, handle: Resource<TapeHandle>) -> Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}

impl HostCursor for State {
    async fn next(&mut self, cursor: Resource<Cursor>, max: u32) -> Result<Result<Vec<Entry>, Error>> {
        let Cursor { cursor, turn } = self.table.get_mut(&cursor)?;
        let entries = cursor.next(max.min(MAX_BATCH) as usize).await;
        Ok(entries.map(|entries| into_entries(turn, entries)).map_err(Error::from))
    }

    async fn drop(&mut self, cursor: Resource<Cursor>) -> Result<()> {
        self.table.delete(cursor)?;
        Ok(())
    }
}

/// What drafts make a turn hold, in bytes: the media of a message too.
fn weight(turn: &Turn, drafts: &[Draft]) -> usize {
    let media = |draft: &Draft| if draft.kind == "message" { turn.calls.media.weight(&draft.payload) } else { 0 };
    drafts.iter().map(|draft| draft.payload.len() + draft.meta.len() + media(draft)).fold(0, usize::saturating_add)
}

/// An entry as guests see it: with marks in the place of a message's media.
fn into_entry(turn: &Turn, entry: tape::Entry) -> Entry {
    let payload = match entry.kind.as_str() {
        "message" => turn.calls.media.put_away(&entry.payload).into_owned(),
        _ => entry.payload,
    };
    Entry { id: entry.id, kind: entry.kind, payload, meta: entry.meta, date: entry.date }
}

pub(crate) fn into_entries(turn: &Turn, entries: Vec<tape::Entry>) -> Vec<Entry> {
    entries.into_iter().map(|entry| into_entry(turn, entry)).collect()
}

pub(crate) fn into_hits(turn: &Turn, hits: Vec<tape::Hit>) -> Vec<Hit> {
    hits.into_iter().map(|hit| Hit { entry: into_entry(turn, hit.entry), score: hit.score }).collect()
}

pub(crate) fn into_info(info: tape::Info) -> Info {
    Info {
        name: info.name,
        entries: info.entries,
        anchors: info.anchors,
        last_anchor: info.last_anchor,
        entries_since_last_anchor: info.entries_since_last_anchor,
        last_token_usage: info.last_token_usage,
        cache_hit_rate: info.cache_hit_rate,
        unreadable: info.unreadable,
    }
}

pub(super) fn from_query(query: entries::Query) -> tape::Query {
    let start = match query.start {
        entries::Start::First => tape::Start::First,
        entries::Start::LastAnchor => tape::Start::LastAnchor,
        entries::Start::AfterAnchor(name) => tape::Start::AfterAnchor(name),
        entries::Start::BetweenAnchors((from, to)) => tape::Start::BetweenAnchors(from, to),
        entries::Start::AfterId(id) => tape::Start::AfterId(id),
    };
    tape::Query {
        start,
        kinds: query.kinds,
        name: query.name,
        text: query.text,
        since: query.since,
        until: query.until,
        newest_first: query.newest_first,
        limit: query.limit.map(|limit| limit as usize),
    }
}
