//! Handles of tapes.

mod forgotten_filter;
mod turn;

use std::sync::Arc;

use super::draft::{Draft, bootstrap, handoff};
use super::entry::Entry;
use super::entry::MEMORY;
use super::erase::Erasure;
use super::error::{Error, Result};
use super::fork::Fork;
use super::info::Info;
use super::journal::{Alone, Journals};
use super::lookup::Lookup;
use super::name::{check_tape_name, family, sidecar_name};
use super::position::Position;
use super::query::Query;
use super::search::{Hit, Search};
use super::section;
use super::session::{SessionMark, session_mark};
use super::store::Store;
use bub_types::text;
use forgotten_filter::ForgottenFilter;

/// A tape of a store, or a fork of one. Cheap to clone; clones are the same tape.
#[derive(Clone)]
pub struct Tape {
    name: Arc<str>,
    /// The store for reads and writes: the store itself, or the innermost fork.
    store: Arc<dyn Store>,
    /// The store beneath all forks.
    root: Arc<dyn Store>,
    fork: Option<Arc<Fork>>,
    depth: usize,
    /// Consulted before the tape is reset outside a turn.
    journals: Option<Arc<Journals>>,
    /// Hides forgotten entries; `None`: all entries are shown.
    filter: Option<Arc<ForgottenFilter>>,
}

impl Tape {
    /// The tape of that name, which may not exist yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the name is invalid.
    pub fn open(store: Arc<dyn Store>, name: &str) -> Result<Self> {
        check_tape_name(name)?;
        Ok(Self {
            name: name.into(),
            store: Arc::clone(&store),
            root: store,
            fork: None,
            depth: 0,
            journals: None,
            filter: None,
        })
    }

    /// The name of the tape.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lets the tape be reset only while no turn of its session runs.
    pub(super) fn guarded(self, journals: &Arc<Journals>) -> Self {
        Self { journals: Some(Arc::clone(journals)), ..self }
    }

    /// The view for guests and models: [forgotten](Self::forgotten) entries have no words.
    pub fn without_forgotten(self) -> Self {
        Self { filter: Some(Arc::default()), ..self }
    }

    /// A child whose writes stay local until [`merge`](Tape::merge). Dropping all its clones discards them.
    pub fn fork(&self) -> Self {
        self.over(Fork::new(Arc::clone(&self.store), &*self.name))
    }

    pub(super) fn over(&self, fork: Fork) -> Self {
        let fork = Arc::new(fork);
        let store = Arc::clone(&fork) as Arc<dyn Store>;
        Self { store, fork: Some(fork), depth: self.depth + 1, filter: self.new_filter(), ..self.clone() }
    }

    /// Whether both are the same tape at the same fork.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && std::ptr::addr_eq(Arc::as_ptr(&self.store), Arc::as_ptr(&other.store))
    }

    /// The number of nested forks. Every read passes through all of them.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether this is a fork.
    pub fn is_fork(&self) -> bool {
        self.fork.is_some()
    }

    /// Writes a fork's entries to its parent, once; they get their final ids there.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if it is not a fork and the second time; else the parent's error, after which the fork
    /// is unchanged.
    pub async fn merge(&self) -> Result<()> {
        match &self.fork {
            Some(fork) => fork.merge().await,
            None => Err(Error::invalid(format!("tape `{}` is no fork", self.name))),
        }
    }

    /// Rejects a message with more bytes of media than the tape can store, before the turn costs anything. A quarter is
    /// reserved for the turn's other entries.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`], with the available size.
    pub fn check_media(&self, bytes: usize) -> Result<()> {
        let most = self.store.longest_entry() / 4 * 3;
        if bytes <= most {
            return Ok(());
        }
        let [bytes, most] = [bytes, most].map(|bytes| text::bytes(bytes as u64));
        Err(Error::invalid(format!("the media come to {bytes} in base64, and the tape takes {most}: attach less")))
    }

    /// The same tape without any fork.
    pub fn stored(&self) -> Self {
        Self { store: Arc::clone(&self.root), fork: None, depth: 0, filter: self.new_filter(), ..self.clone() }
    }

    /// A plugin's sidecar of this tape. It is forked, merged and reset with the tape.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the name is invalid.
    pub fn sidecar(&self, name: &str) -> Result<Self> {
        let name = sidecar_name(&self.name, name)?;
        Ok(Self { name: name.into(), fork: None, ..self.clone() })
    }

    /// Appends the drafts atomically. Returns the id of the first; in a fork it is valid until the merge.
    pub async fn append(&self, drafts: Vec<Draft>) -> Result<u64> {
        self.store.append(&self.name, drafts, None).await
    }

    /// Appends the drafts to the stored tape, bypassing all forks, if its last id is still `last`.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if it is not.
    pub async fn append_direct(&self, last: u64, drafts: Vec<Draft>) -> Result<u64> {
        let written = self.root.append(&self.name, drafts, Some(last)).await;
        self.store.invalidate();
        written
    }

    /// Appends an anchor and its event. Returns the id of the anchor.
    pub async fn handoff(&self, name: &str, state: Option<&str>) -> Result<u64> {
        self.append(handoff(name, state)?.into()).await
    }

    /// Begins a tape that has no anchor yet with `session/start`. Returns whether it did.
    pub async fn bootstrap(&self) -> Result<bool> {
        self.begin_session(None).await
    }

    /// Like [`bootstrap`](Self::bootstrap), with the session recorded in the first anchor.
    pub async fn begin_session(&self, mark: Option<&SessionMark>) -> Result<bool> {
        if self.store.newest(&self.name, &Lookup::Anchor, None).await?.is_some() {
            return Ok(false);
        }
        let mut drafts = bootstrap();
        if let Some(mark) = mark {
            mark.stamp(&mut drafts)?;
        }
        self.append(drafts.into()).await?;
        Ok(true)
    }

    /// See [`Store::index`].
    pub async fn index(&self) -> Result<()> {
        self.root.index(&self.name).await
    }

    /// The session of the tape, if the tape records it.
    pub async fn session_mark(&self) -> Result<Option<SessionMark>> {
        session_mark(&*self.store, &self.name).await
    }

    /// See [`Store::last_id`].
    pub async fn last_id(&self) -> Result<u64> {
        self.store.last_id(&self.name).await
    }

    /// See [`Store::read`].
    pub async fn read(&self, after: u64, max: usize) -> Result<Vec<Entry>> {
        self.shown(self.store.read(&self.name, after, max).await?).await
    }

    /// See [`Store::tail`].
    pub async fn tail(&self, before: Option<u64>, max: usize) -> Result<Vec<Entry>> {
        self.shown(self.store.tail(&self.name, before, max).await?).await
    }

    /// The newest anchor before `before`: of that name (section anchors included), or any that is not a section's.
    pub async fn last_anchor(&self, name: Option<&str>, before: Option<u64>) -> Result<Option<Entry>> {
        let lookup = name.map_or(Lookup::Phase, Lookup::anchor);
        let found = self.store.newest(&self.name, &lookup, before).await?;
        Ok(self.shown(found.into_iter().collect()).await?.pop())
    }

    /// See [`Store::since_anchor`].
    pub async fn since_anchor(&self) -> Result<Vec<Entry>> {
        self.shown(self.store.since_anchor(&self.name).await?).await
    }

    /// See [`Store::newest`]. Includes forgotten entries, for the host's own lookups.
    pub async fn newest(&self, lookup: &Lookup) -> Result<Option<Entry>> {
        self.store.newest(&self.name, lookup, None).await
    }

    /// See [`Store::newest`]: the newest with an id below `before`.
    pub async fn newest_before(&self, lookup: &Lookup, before: Option<u64>) -> Result<Option<Entry>> {
        self.store.newest(&self.name, lookup, before).await
    }

    /// See [`Store::query`].
    pub async fn query(&self, query: &Query) -> Result<Vec<Entry>> {
        self.cursor(query).await?.next(usize::MAX).await
    }

    /// A cursor over the results of a query. It keeps the tape open.
    pub async fn cursor(&self, query: &Query) -> Result<Cursor> {
        let position = Position::new(&*self.store, &self.name, query).await?;
        Ok(Cursor { position, tape: self.clone(), by_text: query.text.is_some() })
    }

    /// See [`Store::section`].
    pub async fn section(&self, name: &str) -> Result<Vec<Entry>> {
        self.shown(self.store.section(&self.name, name, None).await?).await
    }

    /// The current memory section: in the sidecar of a session's tape, or on the tape itself (workspace tapes, and
    /// tapes of earlier versions), whichever has the higher version.
    pub async fn memory(&self) -> Result<Vec<Entry>> {
        let on_tape = self.section(MEMORY).await?;
        let beside = self.sidecar(MEMORY)?.section(MEMORY).await?;
        Ok(if section::version(&on_tape) > section::version(&beside) { on_tape } else { beside })
    }

    /// See [`Store::search`].
    pub async fn search(&self, search: &Search) -> Result<Vec<Hit>> {
        let forgotten = self.not_shown().await?;
        if forgotten.is_empty() {
            return self.store.search(&self.name, search, None).await;
        }
        self.store.search(&self.name, &Search { forgotten, ..search.clone() }, None).await
    }

    /// See [`Store::info`].
    pub async fn info(&self) -> Result<Info> {
        self.store.info(&self.name).await
    }

    /// See [`Store::reset`]. A fork hides the parent's entries, and resets the parent at the merge. Outside a turn,
    /// waits for the session's turn to end.
    pub async fn reset(&self, archive: bool) -> Result<Option<String>> {
        let alone = match &self.journals {
            Some(journals) if self.depth == 0 => Some(journals.exclusively(&self.store, family(&self.name)).await?),
            _ => None,
        };
        let store = alone.as_ref().map_or(&self.store, Alone::store);
        let outcome = store.reset(&self.name, archive).await;
        forgotten_filter::changed();
        if let Some(alone) = alone {
            alone.release().await;
        }
        outcome
    }

    /// Erases entries from the tape or its sidecar of that name. Waits for the session's turn to end. Returns the
    /// number of erased entries.
    ///
    /// # Errors
    ///
    /// See [`Store::erase`]; [`Error::Busy`] if a turn does not end in time.
    pub async fn erase(&self, sidecar: Option<&str>, erasure: Erasure) -> Result<u64> {
        if self.depth > 0 {
            return Err(Error::invalid("entries of a tape cannot be erased while a turn uses it"));
        }
        let name = sidecar.map_or_else(|| Ok(self.name.to_string()), |sidecar| sidecar_name(&self.name, sidecar))?;
        let alone = match &self.journals {
            Some(journals) => Some(journals.exclusively(&self.root, family(&self.name)).await?),
            None => None,
        };
        let erased = alone.as_ref().map_or(&self.root, Alone::store).erase(&name, erasure).await;
        if let Some(alone) = alone {
            alone.release().await;
        }
        erased
    }

    /// Names of the tape's sidecars.
    pub async fn sidecars(&self) -> Result<Vec<String>> {
        self.store.sidecars(&self.name).await
    }

    /// See [`Store::check_writable`].
    pub async fn check_writable(&self) -> Result<()> {
        self.store.check_writable(&self.name).await
    }
}

/// A query's answer, read in parts.
pub struct Cursor {
    tape: Tape,
    position: Position,
    /// Entries are selected by their text, so forgotten ones never match.
    by_text: bool,
}

impl Cursor {
    /// The tape that it reads from.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The next entries, at most `max`; empty at the end.
    pub async fn next(&mut self, max: usize) -> Result<Vec<Entry>> {
        loop {
            let mut found = self.position.next(&*self.tape.store, &self.tape.name, max).await?;
            if self.by_text && !found.is_empty() {
                let forgotten = self.tape.not_shown().await?;
                found.retain(|entry| !forgotten.holds(entry));
                // An empty page marks the end.
                if found.is_empty() {
                    continue;
                }
            }
            return self.tape.shown(found).await;
        }
    }
}
