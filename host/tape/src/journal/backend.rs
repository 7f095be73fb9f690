//! Where journals are kept, and who may write them.

use std::path::Path;
use std::sync::Arc;

use super::super::error::Result;
use super::super::holder::Holder;
use super::super::store::{Future, Store};

/// Keeps the journals of tapes, and gives each tape's lease to one turn at a time.
pub trait JournalBackend: Send + Sync {
    /// Waits for the lease of a tape. Cancel safe: a lease whose caller has gone is released.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`](crate::Error::Busy) if another turn holds it for too long, and errors of the backend.
    fn acquire<'a>(&'a self, tape: &'a str) -> Future<'a, Arc<dyn HeldJournal>>;

    /// The process that holds the lease of a tape, if known.
    fn holder<'a>(&'a self, tape: &'a str) -> Future<'a, Option<Holder>>;

    /// The records of a turn that holds its tape's lease no more and has not ended; empty: there is none. `waits`: for
    /// the end of a lease whose process may be gone, where the backend cannot tell.
    ///
    /// # Errors
    ///
    /// They cannot be read, or the wait takes too long.
    fn left<'a>(&'a self, tape: &'a str, waits: bool) -> Future<'a, Vec<u8>>;

    /// The directory, if journals are files.
    fn dir(&self) -> Option<&Path> {
        None
    }

    /// Whether a lease cannot be acquired while that store cannot be written, so that a turn need not ask.
    fn proves_writable(&self, _store: &Arc<dyn Store>) -> bool {
        false
    }

    /// Waits for the releases that have begun.
    fn released(&self) -> Future<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// A lease that this process holds, and the journal of its turn. Dropped, it is released.
pub trait HeldJournal: Send + Sync {
    /// The records that an interrupted turn left.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn left(&self) -> Result<Vec<u8>>;

    /// Removes those records, once they are on the tape.
    ///
    /// # Errors
    ///
    /// They cannot be removed: the turn must not begin.
    fn empty_left(&self) -> Future<'_, ()>;

    /// Writes the first record of a turn.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    fn begin(&self, record: &[u8]) -> Result<()>;

    /// Reserves space for the turn's records.
    ///
    /// # Errors
    ///
    /// There is too little.
    fn reserve(&self) -> Result<()> {
        Ok(())
    }

    /// Writes a record.
    ///
    /// # Errors
    ///
    /// It cannot be written, or the lease was lost or released.
    fn append(&self, record: &[u8]) -> Result<()>;

    /// Waits until the turn's own writes may be acknowledged to it. A backend behind a network need not wait until they
    /// are durable: an entry that a crash takes was seen by its turn alone.
    ///
    /// # Errors
    ///
    /// The records cannot be written.
    fn acknowledge(&self) -> Future<'_, ()> {
        self.settle()
    }

    /// Makes the records durable soon, without a wait: a model is asked now, which takes long.
    fn hurry(&self) {}

    /// Waits until all records are as durable as the backend makes them: before an effect that cannot be undone.
    ///
    /// # Errors
    ///
    /// The records cannot be written.
    fn settle(&self) -> Future<'_, ()>;

    /// Empties the journal after the turn's commit, at the latest when the lease is released.
    ///
    /// # Errors
    ///
    /// It cannot be emptied.
    fn finish(&self) -> Result<()>;

    /// Releases the lease. Writes that were not [finished](Self::finish) stay for the next turn.
    fn release(&self);

    /// Waits for the end of the release.
    fn released(&self) -> Future<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// That store for the turn: its writes are refused as soon as another process may hold the lease. `None`: the store
    /// does not know the backend's leases.
    fn guard(&self, _store: &Arc<dyn Store>) -> Option<Arc<dyn Store>> {
        None
    }

    /// Rejects what must not happen unless no other process can hold the lease: to be asked right before an effect
    /// outside of the tape.
    ///
    /// # Errors
    ///
    /// [`Error::LeaseLost`](crate::Error::LeaseLost).
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Ends when the lease is lost while the turn runs. A lease that cannot be lost is waited for for ever.
    fn lost(&self) -> Future<'_, ()> {
        Box::pin(std::future::pending())
    }
}
