//! The whole content of a store, for a copy in another: names of every kind, and entries with the ids that they have.
//!
//! A [`Store`] numbers what is written to it and hides archives; a [`Transfer`] does neither. [`copy`] brings the content
//! of one to another, and [`compare`] finds the first difference.

mod copy;
mod cursor;

use super::entry::Entry;
use super::error::{Error, Result};
use super::name::{SIDECAR, family};
use super::store::{Future, Store};

pub use copy::{Difference, Progress, Step, Totals, compare, copy};

/// Entries, and bytes of them, that a page has at most; it has one entry in any case.
pub const PAGE: usize = 512;

/// See [`PAGE`].
pub const PAGE_BYTES: usize = 4 << 20;

/// An item of a store: a tape, a sidecar or an archive, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holding {
    /// The name of a tape, a sidecar or an archive.
    pub name: String,
    /// Whether it is an archive, which nothing but a copy writes.
    pub is_archive: bool,
}

impl Holding {
    /// A tape or a sidecar of that name.
    pub fn tape(name: &str) -> Self {
        Self { name: name.to_owned(), is_archive: false }
    }

    /// The tape that it belongs to, whose writers exclude each other.
    pub fn family(&self) -> &str {
        match self.is_archive {
            true => family(self.name.split_once(".jsonl").map_or(&self.name, |(tape, _)| tape)),
            false => family(&self.name),
        }
    }

    /// Whether it is a tape, and neither a sidecar nor an archive.
    pub fn is_tape(&self) -> bool {
        !self.is_archive && !self.name.contains(SIDECAR)
    }

    /// The error if a store holds something of the other kind under the name.
    pub fn is_of_other_kind(&self) -> Error {
        let (here, there) = if self.is_archive { ("an archive", "a tape") } else { ("a tape", "an archive") };
        Error::invalid(format!("`{}` is {here} in one store and {there} in the other", self.name))
    }
}

/// A store whose whole content can be read and written.
pub trait Transfer: Store {
    /// At most `max` names after `after`, in the order of their bytes: tapes, sidecars and archives.
    fn holdings<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<Holding>>;

    /// The id of the last entry; 0 without one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if there is something of the other kind under the name.
    fn last_of<'a>(&'a self, holding: &'a Holding) -> Future<'a, u64>;

    /// Entries with an id greater than `after`, in order: some if there are any, and no more than [`PAGE`].
    fn page<'a>(&'a self, holding: &'a Holding, after: u64) -> Future<'a, Vec<Entry>>;

    /// Appends entries, which keep their ids and dates, all or none. The first makes the tape or the archive.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the last id is not `after`; [`Error::InvalidInput`] if the store cannot hold a name or an id.
    fn add<'a>(&'a self, holding: &'a Holding, after: u64, entries: Vec<Entry>) -> Future<'a, ()>;

    /// The key of the last commit to a tape and its sidecars that had one.
    fn key<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>>;

    /// Replaces that key.
    fn set_key<'a>(&'a self, tape: &'a str, key: &'a str) -> Future<'a, ()>;

    /// Called after a tape, a sidecar or an archive was copied, for what a store derives from entries.
    fn copied<'a>(&'a self, _holding: &'a Holding) -> Future<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Implements [`Store::append_numbered`] for a store with a [`Transfer`].
///
/// # Errors
///
/// Those of [`Transfer::add`].
pub async fn append_numbered(store: &dyn Transfer, tape: &str, after: u64, entries: Vec<Entry>) -> Result<u64> {
    let last = entries.last().map_or(after, |last| last.id);
    store.add(&Holding::tape(tape), after, entries).await?;
    Ok(last)
}

/// The bytes that an entry counts for in a page.
pub fn size(entry: &Entry) -> usize {
    entry.kind.len() + entry.payload.len() + entry.meta.len() + entry.date.len()
}

/// Checks that the ids of entries that follow the id `after` increase.
///
/// # Errors
///
/// [`Error::InvalidInput`] if they do not.
pub fn check_order(holding: &Holding, after: u64, entries: &[Entry]) -> Result<()> {
    let mut last = after;
    for entry in entries {
        if entry.id <= last {
            return Err(Error::invalid(format!("entry {} of `{}` follows entry {last}", entry.id, holding.name)));
        }
        last = entry.id;
    }
    Ok(())
}
