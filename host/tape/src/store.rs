//! What keeps tapes.

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
use super::query::Query;
use super::search::{Hit, Search};

/// What every operation of a [`Store`] returns.
pub type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// How many entries are fetched in one step by what is written here for all stores.
const PAGE: usize = 256;

/// What one write changes: a tape, its sidecars, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Names the write, so that it can be repeated without harm by whoever does not know whether it was done: a turn's
    /// key. A store remembers the last key of each tape.
    pub key: Option<String>,
    /// All of one tape and its sidecars, each at most once.
    pub batches: Vec<Batch>,
}

/// What one write does to one tape: first the reset, then the drafts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The name of the tape.
    pub tape: String,
    /// Empties the tape, and where it is no sidecar, its sidecars too.
    pub reset: Option<Reset>,
    /// Entries to append.
    pub drafts: Vec<Draft>,
    /// Refuses the whole write unless this is the tape's last id.
    pub expect_last: Option<u64>,
}

/// What becomes of the entries of a tape that is emptied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reset {
    /// They are kept under this name, which [`Store::archive_name`] gave; none: they are not kept.
    pub archive: Option<String>,
    /// What a fork had written before it was emptied: it goes to the archive, behind what the tape held.
    pub kept: Vec<Draft>,
}

/// What became of a [`Commit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// For each batch the id of its first draft; the others follow it.
    Stored(Vec<u64>),
    /// A write of this key was done before: nothing was written now.
    Already,
}

impl Commit {
    /// A write of one batch, without a key.
    pub fn new(batch: Batch) -> Self {
        Self { key: None, batches: vec![batch] }
    }

    /// A write that empties a tape, into the archive of that name or into none.
    pub(super) fn reset(tape: &str, archive: Option<String>) -> Self {
        let reset = Some(Reset { archive, kept: Vec::new() });
        Self::new(Batch { tape: tape.to_owned(), reset, ..Batch::default() })
    }

    /// The tape that this writes to, itself or its sidecars; none when there are no batches.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when there is more than one such tape, a tape comes twice, or a name is none.
    pub fn tape(&self) -> Result<Option<&str>> {
        let mut of_all = None;
        for (place, batch) in self.batches.iter().enumerate() {
            super::check_tape_name(&batch.tape)?;
            let tape = family(&batch.tape);
            if of_all.is_some_and(|other| other != tape) {
                return Err(Error::invalid("one write is for one tape and its sidecars"));
            }
            if self.batches.iter().take(place).any(|before| before.tape == batch.tape) {
                return Err(Error::invalid(format!("one write names the tape `{}` twice", batch.tape)));
            }
            of_all = Some(tape);
        }
        Ok(of_all)
    }
}

/// Keeps tapes by name. A tape that is not there is empty; the first append makes it.
///
/// What has a body here is right for every store, at the cost of one page after another; a store that has an index
/// answers it better.
pub trait Store: Send + Sync {
    /// Writes all batches, or nothing. The first id of a batch is one more than the last on its tape.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when an `expect_last` is not the tape's last id.
    fn commit(&self, commit: Commit) -> Future<'_, Outcome>;

    /// This store, in which that tape is read as it is at this moment, for a store that looks each time whether others have
    /// written; none: it does not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the tape cannot be read.
    fn pinned(&self, _tape: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None)
    }

    /// What lies behind this store was written past it: what of it was found is looked for again.
    fn invalidate(&self) {}

    /// Learns what reading the tape needs, as far as a turn can wait for it: once, at its beginning.
    fn prepare<'a>(&'a self, _tape: &'a str) -> Future<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Builds and saves the tape's index, in the background.
    fn index<'a>(&'a self, _tape: &'a str) -> Future<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The name under which a reset would keep the tape's entries, as nothing is kept yet; none when the tape is not
    /// there, or the store chooses the name later.
    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>>;

    /// Names of the tapes beside `tape` that plugins keep, in order.
    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>>;

    /// The id of the last entry; 0 when there is none.
    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64>;

    /// Entries with an id greater than `after`, in order, at most `max`. Their ids grow, whatever else wrote the tape: what
    /// a store keeps and numbers otherwise, it numbers anew.
    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>>;

    /// The newest `max` entries with an id less than `before` (none: of the whole tape), oldest first.
    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>>;

    /// Names of tapes in order, behind `after`, at most `max`. Sidecars are not among them.
    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>>;

    /// Whether an append would find its way, without making one: a turn is refused before the model is paid.
    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()>;

    /// The longest entry that the tapes take, in bytes.
    fn longest_entry(&self) -> usize {
        LONGEST_LINE
    }

    /// About `max` entries that may fit the condition, where the store can find them without reading the tape; none: it
    /// cannot, and is paged through. Entries that do not fit may be among them, and none that fits is left out.
    ///
    /// # Errors
    ///
    /// What reading says.
    fn find<'a>(&'a self, _tape: &'a str, _condition: &'a Condition, _max: usize) -> Future<'a, Option<Candidates>> {
        Box::pin(async { Ok(None) })
    }

    /// Writes the drafts as one and returns the id of the first. No drafts: nothing is written, and the id is the one that
    /// would come next.
    fn append<'a>(&'a self, tape: &'a str, drafts: Vec<Draft>, expect_last: Option<u64>) -> Future<'a, u64> {
        Box::pin(async move {
            let batch = Batch { tape: tape.to_owned(), reset: None, drafts, expect_last };
            match self.commit(Commit::new(batch)).await? {
                Outcome::Stored(first) => Ok(first.first().copied().unwrap_or_default()),
                Outcome::Already => Ok(self.last_id(tape).await?),
            }
        })
    }

    /// Empties a tape and its sidecars. With `archive` the entries are kept, under the name that is returned; there is
    /// none when the tape was not there.
    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            let archive = if archive { self.archive_name(tape).await? } else { None };
            self.commit(Commit::reset(tape, archive.clone())).await?;
            Ok(archive)
        })
    }

    /// Takes entries out of a tape, a sidecar or an archive for good: all of them or, where this process ends, none. The
    /// others keep their ids, and in files their bytes. How many were taken out.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] where the store has no means to, or the ids of others would change.
    fn erase<'a>(&'a self, tape: &'a str, _erasure: Erasure) -> Future<'a, u64> {
        Box::pin(async move {
            let message = format!(
                "what keeps tape `{tape}` takes no single entries out: `bub-wasm tape reset --discard` empties the tape"
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

    /// The window of a view: the newest anchor that is no section's, and all behind it; the whole tape where there is
    /// none.
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

    /// The section of that name that holds among the entries with an id less than `before`, from its open to its seal;
    /// empty: there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when it is longer than 1,024 entries.
    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>>;

    /// All that a query finds. A store without a better way has [`by_reading::query`](crate::by_reading::query).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when an anchor is missing, [`Error::InvalidInput`] when a date makes no sense.
    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>>;

    /// What a search finds among the entries with an id less than `before`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when nothing can be looked for by that text, or a date makes no sense.
    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>>;

    /// What the tape amounts to. Reads all of it.
    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        Box::pin(info_by_reading(self, tape))
    }
}

/// The counts of a tape, one page after another.
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
        // A long tape leaves room for others.
        tokio::task::yield_now().await;
    }
}

/// The largest id that is given, so that counting never runs over; a tape with a larger one can only be read.
const LARGEST_ID: u64 = i64::MAX as u64;

/// The id behind `last`, with room for `count` entries.
pub(super) fn next_id(last: u64, count: usize) -> Result<u64> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    match last.checked_add(count) {
        Some(sum) if sum < LARGEST_ID => Ok(last + 1),
        _ => Err(Error::invalid(format!("no ids are left behind {last}"))),
    }
}
