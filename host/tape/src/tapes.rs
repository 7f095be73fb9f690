//! All tapes, and the turns that write them.

use std::sync::Arc;

use jiff::Timestamp;

use super::compact::superseded;
use super::error::Result;
use super::fork::Fork;
use super::handle::Tape;
use super::journal::{Journals, Recovered};
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

    /// What keeps the tapes.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The turns in flight, and what crashes left of them.
    pub fn journals(&self) -> &Journals {
        &self.journals
    }

    /// The tape of that name as it is stored.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`](super::Error::InvalidInput) when no tape may have the name.
    pub fn open(&self, name: &str) -> Result<Tape> {
        Ok(Tape::open(Arc::clone(&self.store), name)?.guarded(&self.journals))
    }

    /// Takes out of a tape, or of its sidecar of that name, what of its sections holds no longer since before `cutoff`. How many
    /// entries those are; `dry`: only counts.
    ///
    /// # Errors
    ///
    /// The tape cannot be read, a turn has it, or what keeps it cannot take entries out.
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

    /// Puts what an interrupted turn left on the tape where no model sees it: the turn is about to be begun again.
    ///
    /// # Errors
    ///
    /// As those of [`begin`](Self::begin).
    pub async fn set_aside(&self, name: &str) -> Result<Option<Recovered>> {
        check_tape_name(name)?;
        self.journals.set_aside(&*self.store, name).await
    }

    /// A turn's fork of the tape. While it lives, until [`Tape::close`], no other turn of the session begins, in this process or another;
    /// what is written to it survives this process and is on the tape, at the latest, when the next turn begins. What an
    /// interrupted turn left is put on the tape first.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`](super::Error::Busy) when another turn does not end in time, and whatever keeps the journal from
    /// being written: then the turn could not be kept either.
    pub async fn begin(&self, name: &str) -> Result<(Tape, Option<Recovered>)> {
        check_tape_name(name)?;
        self.store.check_writable(name).await?;
        self.store.prepare(name).await?;
        let (journal, recovered) = self.journals.begin(&*self.store, name).await?;
        let fork = Fork::journaled(Arc::clone(&self.store), name, journal);
        Ok((self.open(name)?.over(fork), recovered))
    }
}
