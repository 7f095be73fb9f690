//! Tapes in PostgreSQL, with an index for every query of turns and searches.
//!
//! Reads are one statement each, so they see one snapshot. A commit without a reset is one call of a function of the
//! schema, and one round trip. Resets and erasures are transactions of several statements; like every write they first lock
//! the row of the tape's family. Grams for searches are made after the answer, in [`Store::index`].

mod commit;
mod erase;
mod find;
mod index;
mod read;
mod row;
mod snapshot;
mod transfer;

use bub_tape::{
    Candidates, Commit, Condition, Entry, Erasure, Future, Hit, Info, Lookup, Outcome, Query, Revision, Search, Store,
    by_reading, check_tape_name,
};

use super::database::Database;
use super::lease::Fence;
use super::turn_store;
pub(crate) use row::{damaged, entry_at};

/// A store of tapes in PostgreSQL.
///
/// An archive is kept like a tape under its name, but is not listed or writable. Erased and removed data stays
/// in PostgreSQL's files until its vacuum, and in its write-ahead logs and backups as long as those are kept.
pub struct PostgresStore {
    database: Database,
    fence: Option<Fence>,
}

impl PostgresStore {
    /// The tapes of that database.
    pub fn new(database: Database) -> Self {
        Self { database, fence: None }
    }

    /// The same tapes, whose writes are refused as soon as another process has claimed the lease.
    pub fn fenced(&self, fence: Fence) -> Self {
        Self { database: self.database.clone(), fence: Some(fence) }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }
}

impl Store for PostgresStore {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(commit::commit(&self.database, self.fence.as_ref(), commit))
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(commit::archive_name(&self.database, tape))
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(commit::reset(&self.database, self.fence.as_ref(), tape, archive))
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        Box::pin(bub_tape::transfer::append_numbered(self, tape, after, entries))
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        Box::pin(erase::erase(&self.database, self.fence.as_ref(), tape, erasure))
    }

    fn revisions<'a>(&'a self, tapes: &'a [String]) -> Future<'a, Vec<Option<Revision>>> {
        Box::pin(read::revisions(&self.database, tapes))
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(read::sidecars(&self.database, tape))
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        Box::pin(read::last_id(&self.database, tape))
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(read::page(&self.database, tape, after, max))
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(read::tail(&self.database, tape, before, max))
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        Box::pin(read::newest(&self.database, tape, lookup, before))
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        Box::pin(read::since_anchor(&self.database, tape))
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(read::list(&self.database, after, max))
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(read::archives(&self.database, after, max))
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            check_tape_name(tape)?;
            commit::check_writable(&self.database, format!("append to tape `{tape}`")).await
        })
    }

    fn check_reachable(&self) -> Future<'_, ()> {
        let action = format!("open the tapes in `{}`", self.database.name());
        Box::pin(commit::check_writable(&self.database, action))
    }

    fn index<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(index::index(&self.database, tape))
    }

    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        Box::pin(read::info(&self.database, tape))
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        Box::pin(find::find(&self.database, tape, condition, max))
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        Box::pin(turn_store::section(self, tape, name, before))
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        by_reading::search(self, tape, search, before)
    }
}
