//! Handles of tapes.

mod forgotten_filter;

use std::sync::Arc;

use super::draft::{Draft, bootstrap, handoff};
use super::entry::Entry;
use super::entry::MEMORY;
use super::erase::Erasure;
use super::error::{Error, Result};
use super::fork::Fork;
use super::info::Info;
use super::journal::{Journal, Journals};
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
    /// What reads and writes go through: the store itself, or the innermost fork.
    store: Arc<dyn Store>,
    /// The store behind all forks.
    root: Arc<dyn Store>,
    fork: Option<Arc<Fork>>,
    depth: usize,
    /// Who is asked before the tape is emptied outside a turn.
    journals: Option<Arc<Journals>>,
    /// Hides forgotten entries; none: all entries are shown.
    filter: Option<Arc<ForgottenFilter>>,
}

impl Tape {
    /// The tape of that name; it need not be there yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when no tape may have the name.
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

    /// The same, emptied only while no turn of its session runs.
    pub(super) fn guarded(self, journals: &Arc<Journals>) -> Self {
        Self { journals: Some(Arc::clone(journals)), ..self }
    }

    /// The same as guests and models are shown it: without the words of entries that are [forgotten](Self::forgotten).
    pub fn without_forgotten(self) -> Self {
        Self { filter: Some(Arc::default()), ..self }
    }

    /// A child whose writes stay apart until [`merge`](Tape::merge). Dropping it with all its clones discards them.
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

    /// How many forks lie between this and what is stored. Every read goes through all of them.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether this is a fork.
    pub fn is_fork(&self) -> bool {
        self.fork.is_some()
    }

    /// Writes a fork's entries to its parent, once; their ids are given there.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] on what is no fork and the second time; else what the parent says, and then the fork
    /// stays as it was.
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
    /// [`Error::InvalidInput`], with how much there is room for.
    pub fn check_media(&self, bytes: usize) -> Result<()> {
        let most = self.store.longest_entry() / 4 * 3;
        if bytes <= most {
            return Ok(());
        }
        let [bytes, most] = [bytes, most].map(|bytes| text::bytes(bytes as u64));
        Err(Error::invalid(format!("the media come to {bytes} in base64, and the tape takes {most}: attach less")))
    }

    /// Keeps in a turn's journal what the user said, so that a crash does not lose it. Without a journal nothing happens.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the journal cannot be written.
    pub fn keep_prompt(&self, text: &str) -> Result<()> {
        self.journal().map_or(Ok(()), |journal| journal.prompt(text))
    }

    /// Keeps that a tool begins whose effect cannot be taken back: its call, as the model made it. A turn's journal keeps it
    /// too, where there is one. It is never repeated, and an interruption is said to the model.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the journal cannot be written: the tool must not run.
    pub async fn keep_tool(&self, call: &str) -> Result<()> {
        let Some(fork) = &self.fork else {
            return Ok(());
        };
        if let Some(journal) = fork.journal() {
            journal.tool(call)?;
            journal.settle().await?;
        }
        fork.begin_tool(call);
        Ok(())
    }

    /// Ends what [`Self::keep_tool`] began, where no entry says what came of it: a tool that a person called by a command is
    /// no part of the conversation, and is not open once it has answered.
    pub fn end_tool(&self, call: &str) {
        if let Some(fork) = &self.fork {
            fork.end_tool(call);
        }
    }

    /// The entries that close what an interruption left open in this fork, as a recovery would write them: calls of tools
    /// that began, with a result that says that they may or may not have run.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when a call that began is one that no tape can hold.
    pub fn interrupted_calls(&self) -> Result<Vec<Draft>> {
        self.fork.as_ref().map_or_else(|| Ok(Vec::new()), |fork| fork.interrupted_calls())
    }

    fn journal(&self) -> Option<&Arc<Journal>> {
        self.fork.as_ref().and_then(|fork| fork.journal())
    }

    /// Ends a turn: the fork takes nothing more, and the next turn of the session may begin. What was not merged stays in
    /// the journal.
    pub fn close(&self) {
        if let Some(fork) = &self.fork {
            fork.close();
        }
    }

    /// The same tape without any fork: what is stored of it now.
    pub fn stored(&self) -> Self {
        Self { store: Arc::clone(&self.root), fork: None, depth: 0, filter: self.new_filter(), ..self.clone() }
    }

    /// The tape that a plugin keeps beside this one. It is forked, merged and emptied with it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when no sidecar may have the name.
    pub fn sidecar(&self, name: &str) -> Result<Self> {
        let name = sidecar_name(&self.name, name)?;
        Ok(Self { name: name.into(), fork: None, ..self.clone() })
    }

    /// Appends the drafts atomically. Returns the id of the first; in a fork it is valid until the merge.
    pub async fn append(&self, drafts: Vec<Draft>) -> Result<u64> {
        self.store.append(&self.name, drafts, None).await
    }

    /// Writes the drafts to what is stored, past every fork, if `last` is still the last id there.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when it is not.
    pub async fn append_direct(&self, last: u64, drafts: Vec<Draft>) -> Result<u64> {
        let written = self.root.append(&self.name, drafts, Some(last)).await;
        self.store.invalidate();
        written
    }

    /// Writes an anchor and the event that says so. The id of the anchor.
    pub async fn handoff(&self, name: &str, state: Option<&str>) -> Result<u64> {
        self.append(handoff(name, state)?.into()).await
    }

    /// Begins a tape that has no anchor yet with `session/start`. Whether it did.
    pub async fn bootstrap(&self) -> Result<bool> {
        self.begin_session(None).await
    }

    /// The same, for a session that is known: its first anchor says which it is.
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

    /// The newest anchor before `before`: of that name, a section's too, or any that is no section's.
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

    /// A position in the answer of a query, for reading it in parts. It keeps the tape open.
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

    /// See [`Store::reset`]. A fork hides what its parent holds, and empties it at the merge. Outside a turn it is waited
    /// for the session's turn to end.
    pub async fn reset(&self, archive: bool) -> Result<Option<String>> {
        let _alone = match &self.journals {
            Some(journals) if self.depth == 0 => Some(journals.exclusively(&*self.store, family(&self.name)).await?),
            _ => None,
        };
        let outcome = self.store.reset(&self.name, archive).await;
        forgotten_filter::changed();
        outcome
    }

    /// Takes entries out of the tape or its sidecar of that name for good. It waits for the session's turn to end. How many
    /// were taken out.
    ///
    /// # Errors
    ///
    /// See [`Store::erase`]; [`Error::Busy`] where a turn does not end in time.
    pub async fn erase(&self, sidecar: Option<&str>, erasure: Erasure) -> Result<u64> {
        if self.depth > 0 {
            return Err(Error::invalid("nothing is taken out of a tape while a turn has it"));
        }
        let _alone = match &self.journals {
            Some(journals) => Some(journals.exclusively(&*self.root, family(&self.name)).await?),
            None => None,
        };
        let name = sidecar.map_or_else(|| Ok(self.name.to_string()), |sidecar| sidecar_name(&self.name, sidecar))?;
        self.root.erase(&name, erasure).await
    }

    /// Names of the tapes beside this one.
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
    /// Entries are found by what they say: of what is forgotten nothing is found.
    by_text: bool,
}

impl Cursor {
    /// What it reads from.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The next entries, at most `max`; empty: the end.
    pub async fn next(&mut self, max: usize) -> Result<Vec<Entry>> {
        loop {
            let mut found = self.position.next(&*self.tape.store, &self.tape.name, max).await?;
            if self.by_text && !found.is_empty() {
                let forgotten = self.tape.not_shown().await?;
                found.retain(|entry| !forgotten.holds(entry));
                // An empty page says that the end is reached.
                if found.is_empty() {
                    continue;
                }
            }
            return self.tape.shown(found).await;
        }
    }
}
