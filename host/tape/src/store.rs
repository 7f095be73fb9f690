//! The interface of tape stores.

use std::pin::Pin;
use std::sync::Arc;

use super::condition::{Candidates, Condition};
use super::draft::Draft;
use super::entry::{Entry, LONGEST_LINE};
use super::erase::Erasure;
use super::error::{Error, Result};
use super::info::Info;
use super::lookup::Lookup;
use super::name::family;
use super::note::Note;
use super::query::Query;
use super::revision::Revision;
use super::search::{Hit, Search};

/// The return type of every operation of a [`Store`].
pub type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// Entries per step of the default implementations.
const PAGE: usize = 256;

/// An atomic write to a tape, its sidecars, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The idempotency key: a turn's key, with which the write can be repeated after an uncertain outcome. A store
    /// remembers the last key of each tape.
    pub key: Option<String>,
    /// Batches for one tape and its sidecars, each at most once.
    pub batches: Vec<Batch>,
}

/// The change of one tape: first the reset, then the drafts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The name of the tape.
    pub tape: String,
    /// Resets the tape and, if it is not a sidecar, its sidecars.
    pub reset: Option<Reset>,
    /// Entries to append.
    pub drafts: Vec<Draft>,
    /// Rejects the whole commit unless this is the tape's last id.
    pub expect_last: Option<u64>,
}

/// The effect of a reset on the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reset {
    /// The archive's name, from [`Store::archive_name`]; `None`: the entries are not kept.
    pub archive: Option<String>,
    /// Entries that a fork had written before the reset; they are appended to the archive.
    pub kept: Vec<Draft>,
}

/// The outcome of a [`Commit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// For each batch the id of its first draft; the others follow it.
    Stored(Vec<u64>),
    /// A commit with this key was done before: nothing was written.
    Already,
}

impl Commit {
    /// A commit of one batch, without a key.
    pub fn new(batch: Batch) -> Self {
        Self { key: None, batches: vec![batch] }
    }

    /// A commit that resets a tape, into the archive of that name or without one.
    pub(super) fn reset(tape: &str, archive: Option<String>) -> Self {
        let reset = Some(Reset { archive, kept: Vec::new() });
        Self::new(Batch { tape: tape.to_owned(), reset, ..Batch::default() })
    }

    /// The tape that this commit writes, itself or its sidecars; `None` without batches.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if there is more than one such tape, a tape occurs twice, or a name is invalid.
    pub fn tape(&self) -> Result<Option<&str>> {
        let mut of_all = None;
        for (place, batch) in self.batches.iter().enumerate() {
            super::check_tape_name(&batch.tape)?;
            let tape = family(&batch.tape);
            if of_all.is_some_and(|other| other != tape) {
                return Err(Error::invalid("one write changes one tape and its sidecars only"));
            }
            if self.batches.iter().take(place).any(|before| before.tape == batch.tape) {
                return Err(Error::invalid(format!("one write names the tape `{}` twice", batch.tape)));
            }
            of_all = Some(tape);
        }
        Ok(of_all)
    }
}

/// Stores tapes by name. A missing tape is empty; the first append creates it.
///
/// The default implementations work for every store by paging; a store with an index should override them.
pub trait Store: Send + Sync {
    /// Writes all batches or nothing. The first id of a batch is one more than the last on its tape.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if an `expect_last` is not the tape's last id.
    fn commit(&self, commit: Commit) -> Future<'_, Outcome>;

    /// This store with that tape pinned to its current state, for a store that checks for other writers at each read;
    /// `None`: it does not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the tape cannot be read.
    fn pinned(&self, _tape: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }

    /// Invalidates caches after a write that bypassed this store.
    fn invalidate(&self) {}

    /// The store beneath this one, if this one is a layer that adds to what is written.
    fn base(&self) -> Option<&Arc<dyn Store>> {
        None
    }

    /// The same layer over another store; `None`: it is no layer.
    fn over(&self, _base: Arc<dyn Store>) -> Option<Arc<dyn Store>> {
        None
    }

    /// Records a fact about a tape beside it, where the store keeps such records.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    fn note<'a>(&'a self, _tape: &'a str, _note: Note) -> Future<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// A revision for each of these tapes and sidecars. `None`: the store cannot tell whether the tape is written, or it is
    /// being written now, so that it must be read.
    fn revisions<'a>(&'a self, tapes: &'a [String]) -> Future<'a, Vec<Option<Revision>>> {
        Box::pin(async { Ok(vec![None; tapes.len()]) })
    }

    /// Begins to read a tape that a turn will probably use, in the background. The turn meets a failure again.
    fn read_ahead(&self, _tape: &str) {}

    /// Prepares a tape for reading, once at the beginning of a turn.
    fn prepare<'a>(&'a self, _tape: &'a str) -> Future<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Builds and saves the tape's index, in the background.
    fn index<'a>(&'a self, _tape: &'a str) -> Future<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The name under which a reset would archive the tape's entries now; `None` if the tape does not exist, or the
    /// store chooses the name later.
    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>>;

    /// Names of the tape's sidecars, in order.
    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>>;

    /// The id of the last entry; 0 without one.
    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64>;

    /// At most `max` entries with an id greater than `after`, in order. Ids increase; a store renumbers entries whose
    /// stored ids do not.
    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>>;

    /// The newest `max` entries with an id less than `before` (`None`: of the whole tape), oldest first.
    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>>;

    /// At most `max` names of tapes after `after`, in order, without sidecars.
    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>>;

    /// At most `max` names of archives after `after`, in order: those of tapes and of sidecars. [`read`](Self::read) and
    /// [`erase`](Self::erase) take them. None where archives are files, which lie beside the tapes.
    fn archives<'a>(&'a self, _after: Option<&'a str>, _max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Whether an append would succeed, without making one: a turn is rejected before its model is called.
    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()>;

    /// Whether the store can be read and written at all, asked at little cost: by probes of a server. A store that is a part
    /// of this machine need not look.
    fn check_reachable(&self) -> Future<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Maximum size of an entry, in bytes.
    fn longest_entry(&self) -> usize {
        LONGEST_LINE
    }

    /// About `max` candidates for the condition, if the store can find them without reading the tape; `None` if it
    /// cannot, and must be paged. The candidates include all matches, and may include others.
    ///
    /// # Errors
    ///
    /// Errors of reading.
    fn find<'a>(&'a self, _tape: &'a str, _condition: &'a Condition, _max: usize) -> Future<'a, Option<Candidates>> {
        Box::pin(async { Ok(None) })
    }

    /// Appends the drafts atomically and returns the id of the first. Without drafts nothing is written, and the id is
    /// the next one.
    fn append<'a>(&'a self, tape: &'a str, drafts: Vec<Draft>, expect_last: Option<u64>) -> Future<'a, u64> {
        Box::pin(async move {
            let batch = Batch { tape: tape.to_owned(), reset: None, drafts, expect_last };
            match self.commit(Commit::new(batch)).await? {
                Outcome::Stored(first) => Ok(first.first().copied().unwrap_or_default()),
                Outcome::Already => Ok(self.last_id(tape).await?),
            }
        })
    }

    /// Appends entries, which keep their ids and dates where the store can write ids: its last id must be `after`, and they
    /// increase. A store that numbers entries itself gives them the next ids. Returns the last id.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the last id is not `after`.
    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        Box::pin(async move {
            let count = entries.len() as u64;
            let drafts = entries.into_iter().map(Draft::from).collect();
            let first = self.append(tape, drafts, Some(after)).await?;
            Ok((first + count).saturating_sub(1))
        })
    }

    /// Resets a tape and its sidecars. With `archive` the entries are kept, under the name that is returned; `None` if
    /// the tape did not exist.
    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            let archive = if archive { self.archive_name(tape).await? } else { None };
            self.commit(Commit::reset(tape, archive.clone())).await?;
            Ok(archive)
        })
    }

    /// Erases entries from a tape, a sidecar or an archive permanently: all of them or, after a crash, none. The others
    /// keep their ids and, in files, their bytes. Returns the number of erased entries.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the store does not support it, or ids of other entries would change.
    fn erase<'a>(&'a self, tape: &'a str, _erasure: Erasure) -> Future<'a, u64> {
        Box::pin(async move {
            let message = format!(
                "the store of tape `{tape}` cannot erase single entries: `bub-wasm tape reset --discard` empties the tape"
            );
            Err(Error::invalid(message))
        })
    }

    /// The newest entry with an id less than `before` that matches `lookup`.
    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        Box::pin(async move {
            let mut before = before;
            loop {
                let page = self.tail(tape, before, PAGE).await?;
                let Some(first) = page.first() else {
                    return Ok(None);
                };
                before = Some(first.id);
                if let Some(found) = page.into_iter().rev().find(|entry| lookup.matches(entry)) {
                    return Ok(Some(found));
                }
            }
        })
    }

    /// The window of a view: the newest anchor that is not a section's, and all entries after it; the whole tape
    /// without one.
    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            let mut newest_first: Vec<Entry> = Vec::new();
            loop {
                let before = newest_first.last().map(|entry| entry.id);
                let page = self.tail(tape, before, PAGE).await?;
                let mut done = page.is_empty();
                for entry in page.into_iter().rev() {
                    done = entry.begins_phase();
                    newest_first.push(entry);
                    if done {
                        break;
                    }
                }
                if done {
                    newest_first.reverse();
                    return Ok(newest_first);
                }
            }
        })
    }

    /// The current section of that name among the entries with an id less than `before`, from its open to its seal;
    /// empty if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if it is longer than 1,024 entries.
    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>>;

    /// All results of a query. A store without an index can use [`by_reading::query`](crate::by_reading::query).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if an anchor is missing, [`Error::InvalidInput`] if a date is invalid.
    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>>;

    /// Searches the entries with an id less than `before`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the text cannot be searched for, or a date is invalid.
    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>>;

    /// The statistics of the tape. Reads all of it.
    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        Box::pin(info_by_reading(self, tape))
    }
}

/// Computes the statistics page by page.
pub(super) async fn info_by_reading(store: &(impl Store + ?Sized), tape: &str) -> Result<Info> {
    let mut info = Info::new(tape);
    let mut after = 0;
    loop {
        let page = store.read(tape, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(info);
        };
        after = last.id;
        page.iter().for_each(|entry| info.count(entry));
        // Let other tasks run during a long tape.
        tokio::task::yield_now().await;
    }
}

/// The largest id that is assigned, to prevent overflow; a tape with a larger one is read-only.
const LARGEST_ID: u64 = i64::MAX as u64;

/// The id after `last`, with room for `count` entries.
pub(super) fn next_id(last: u64, count: usize) -> Result<u64> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    match last.checked_add(count) {
        Some(sum) if sum < LARGEST_ID => Ok(last + 1),
        _ => Err(Error::invalid(format!("no ids are left after {last}"))),
    }
}
