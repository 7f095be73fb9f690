//! A store with its journals.

use std::sync::Arc;

use jiff::Timestamp;

use super::compact::superseded;
use super::error::Result;
use super::fork::Fork;
use super::handle::Tape;
use super::journal::{InterruptedSession, Journals, Recovered};
use super::name::{check_tape_name, sidecar_name};
use super::store::Store;

/// A store of tapes with the journals of the turns that write to it.
#[derive(Clone)]
pub struct Tapes {
    store: Arc<dyn Store>,
    journals: Arc<Journals>,
}

impl Tapes {
    /// Tapes of `store`, with journals of turns in `journals`.
    pub fn new(store: Arc<dyn Store>, journals: Arc<Journals>) -> Self {
        Self { store, journals }
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
}
