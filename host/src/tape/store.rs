//! What keeps tapes.

use std::pin::Pin;

use super::draft::Draft;
use super::entry::Entry;
use super::error::{Error, Result};
use super::info::Info;
use super::query::{Position, Query};

/// What every operation of a [`Store`] returns.
pub type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// How many entries are fetched in one step by what is written here for all stores.
const PAGE: usize = 256;

/// Keeps tapes by name. A tape that is not there is empty; the first append makes it.
///
/// What has a body here is right for every store, at the cost of one page after another; a store that has an index
/// answers it better.
pub trait Store: Send + Sync {
    /// Writes the drafts as one, all or nothing, and returns the id of the first; the others follow it. The first id is
    /// one more than the last on the tape. No drafts: nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when `expect_last` is given and is not the tape's last id.
    fn append<'a>(&'a self, tape: &'a str, drafts: Vec<Draft>, expect_last: Option<u64>) -> Future<'a, u64>;

    /// The id of the last entry; 0 when there is none.
    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64>;

    /// Entries with an id greater than `after`, in order, at most `max`.
    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>>;

    /// The newest `max` entries with an id less than `before` (none: of the whole tape), oldest first.
    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>>;

    /// Names of tapes in order, behind `after`, at most `max`. Sidecars are not among them.
    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>>;

    /// Empties a tape. With `archive` its entries are kept, under the name that is returned; there is none when the
    /// tape was not there.
    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>>;

    /// Whether an append would find its way, without making one: a turn is refused before the model is paid.
    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()>;

    /// The newest anchor with an id less than `before`. With a name: of that name, a zone's too. Without: any, but those
    /// of zones only where `zones` is set.
    fn last_anchor<'a>(
        &'a self,
        tape: &'a str,
        name: Option<&'a str>,
        before: Option<u64>,
        zones: bool,
    ) -> Future<'a, Option<Entry>> {
        Box::pin(async move {
            let mut before = before;
            loop {
                let page = self.tail(tape, before, PAGE).await?;
                let Some(first) = page.first() else {
                    return Ok(None);
                };
                before = Some(first.id);
                if let Some(found) = page.into_iter().rev().find(|entry| entry.answers(name, zones)) {
                    return Ok(Some(found));
                }
            }
        })
    }

    /// The window of a view: the newest anchor that is no zone's, and all behind it; the whole tape where there is
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

    /// The newest entry of a kind.
    fn last_of_kind<'a>(&'a self, tape: &'a str, kind: &'a str) -> Future<'a, Option<Entry>> {
        Box::pin(async move {
            let mut before = None;
            loop {
                let page = self.tail(tape, before, PAGE).await?;
                let Some(first) = page.first() else {
                    return Ok(None);
                };
                before = Some(first.id);
                if let Some(found) = page.into_iter().rev().find(|entry| entry.kind == kind) {
                    return Ok(Some(found));
                }
            }
        })
    }

    /// All that a query finds.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when an anchor is missing, [`Error::InvalidInput`] when a date makes no sense.
    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            let mut position = Position::new(self, tape, query).await?;
            position.next(self, tape, usize::MAX).await
        })
    }

    /// What the tape amounts to. Reads all of it.
    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        Box::pin(async move {
            let mut info = Info::of(tape);
            let mut after = 0;
            loop {
                let page = self.read(tape, after, PAGE).await?;
                let Some(last) = page.last() else {
                    return Ok(info);
                };
                after = last.id;
                page.iter().for_each(|entry| info.count(entry));
                // A long tape leaves room for others.
                tokio::task::yield_now().await;
            }
        })
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
