//! A store with its journals.

use std::sync::Arc;

use jiff::Timestamp;

use super::compact::superseded;
use super::draft::{self, Draft};
use super::error::Result;
use super::fork::Fork;
use super::handle::Tape;
use super::journal::{InterruptedSession, Journals, Recovered};
use super::name::{check_tape_name, sidecar_name};
use super::session::{SessionMark, name_session};
use super::session_summaries::SummaryCache;
use super::store::Store;
use super::tape_copy::TapeCopy;

/// A store of tapes with the journals of the turns that write to it.
#[derive(Clone)]
pub struct Tapes {
    store: Arc<dyn Store>,
    journals: Arc<Journals>,
    pub(super) summaries: Arc<SummaryCache>,
}

impl Tapes {
    /// Tapes of `store`, with journals of turns in `journals`.
    pub fn new(store: Arc<dyn Store>, journals: Arc<Journals>) -> Self {
        Self { store, journals, summaries: Arc::default() }
    }

    /// These tapes with summaries that are kept elsewhere, for several values over one store.
    #[must_use]
    pub fn with_summaries(self, summaries: &Arc<SummaryCache>) -> Self {
        Self { summaries: Arc::clone(summaries), ..self }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The journals of running and interrupted turns.
    pub fn journals(&self) -> &Journals {
        &self.journals
    }

    /// The stored tape of that name.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`](super::Error::InvalidInput) if the name is invalid.
    pub fn open(&self, name: &str) -> Result<Tape> {
        Ok(Tape::open(Arc::clone(&self.store), name)?.guarded(&self.journals))
    }

    /// Erases section versions that were superseded before `cutoff` from a tape, or from its sidecar of that name.
    /// Returns the number of entries; `dry` only counts them.
    ///
    /// # Errors
    ///
    /// The tape cannot be read, a turn uses it, or the store cannot erase entries.
    pub async fn compact(&self, name: &str, sidecar: Option<&str>, cutoff: Timestamp, dry: bool) -> Result<u64> {
        let tape = self.open(name)?;
        let kept_in = sidecar.map_or_else(|| Ok(name.to_owned()), |sidecar| sidecar_name(name, sidecar))?;
        let gone = superseded(&*self.store, &kept_in, cutoff).await?;
        match gone.len() as u64 {
            0 => Ok(0),
            count if dry => Ok(count),
            _ => tape.erase(sidecar, gone).await,
        }
    }

    /// The tape under its lease, to find out what became of a turn whose process is gone. A process that is only
    /// suspended can write nothing more of it.
    ///
    /// # Errors
    ///
    /// As those of [`begin`](Self::begin).
    pub async fn interrupted(&self, name: &str) -> Result<InterruptedSession> {
        check_tape_name(name)?;
        self.journals.interrupted(&self.store, name).await
    }

    /// A turn's fork of the tape. Until [`Tape::close`] no other turn of the session begins, in this process or
    /// another. Entries written to it survive a crash, and are on the tape when the next turn begins at the latest. An
    /// interrupted turn is recovered first.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`](super::Error::Busy) if another turn does not end in time, and errors of writing the journal.
    pub async fn begin(&self, name: &str) -> Result<(Tape, Option<Recovered>)> {
        check_tape_name(name)?;
        if !self.journals.proves_writable(&self.store) {
            self.store.check_writable(name).await?;
        }
        self.store.prepare(name).await?;
        let (journal, recovered) = self.journals.begin(&self.store, name).await?;
        let tape = Tape::open(Arc::clone(journal.store()), name)?.guarded(&self.journals);
        let fork = Fork::journaled(Arc::clone(journal.store()), name, journal);
        Ok((tape.over(fork), recovered))
    }

    /// Appends an anchor and its event between two turns of the session, so that no phase begins within a turn: waits for
    /// the running turn, and recovers an interrupted one first. `behind` follows them in the same write. Returns the id of
    /// the anchor.
    ///
    /// Not cancel safe: what was written until then counts as an interrupted turn.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`](super::Error::InvalidInput) if the name is blank or the state is not JSON, before anything is
    /// written; else those of [`begin`](Self::begin) and of writing.
    pub async fn handoff(
        &self,
        name: &str,
        anchor: &str,
        state: Option<&str>,
        behind: Vec<Draft>,
    ) -> Result<(u64, Option<Recovered>)> {
        let drafts = draft::handoff(anchor, state)?.into_iter().chain(behind).collect();
        self.append_between_turns(name, drafts, true).await
    }

    /// Names the session of a tape between two of its turns; an empty name removes it. See [`handoff`](Self::handoff).
    ///
    /// # Errors
    ///
    /// Those of [`name_session`], [`begin`](Self::begin) and of writing.
    pub async fn rename(&self, name: &str, session_name: &str) -> Result<()> {
        self.append_between_turns(name, vec![name_session(session_name)?], false).await.map(drop)
    }

    /// Appends an event between two turns of the session. See [`handoff`](Self::handoff).
    ///
    /// # Errors
    ///
    /// Those of [`begin`](Self::begin) and of writing.
    pub async fn append_event(&self, name: &str, event: Draft) -> Result<()> {
        self.append_between_turns(name, vec![event], false).await.map(drop)
    }

    /// Returns the id of the first draft. `bootstraps`: begins a tape without an anchor with `session/start`.
    async fn append_between_turns(
        &self,
        name: &str,
        drafts: Vec<Draft>,
        bootstraps: bool,
    ) -> Result<(u64, Option<Recovered>)> {
        let (turn, recovered) = self.begin(name).await?;
        let count = drafts.len() as u64;
        let written = async {
            if bootstraps {
                turn.bootstrap().await?;
            }
            turn.append(drafts).await?;
            turn.merge().await?;
            // The merge assigns the ids, and under the lease nothing follows.
            self.store.last_id(name).await
        };
        let written = written.await;
        turn.close();
        self.journals.released().await;
        Ok(((written? + 1).saturating_sub(count), recovered))
    }

    /// Begins a copy of a tape to a new one: see [`TapeCopy`].
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](super::Error::NotFound) if there is no entry `through`, [`Error::Busy`](super::Error::Busy) if a
    /// turn of `to` does not end in time, and errors of the store.
    pub async fn copy(
        &self,
        from: &str,
        to: &str,
        through: Option<u64>,
        mark: Option<SessionMark>,
    ) -> Result<Option<TapeCopy>> {
        TapeCopy::begin(&self.store, &self.journals, [from, to], through, mark).await
    }
}
