//! Tapes in one SQLite database, with an index for every query of turns and searches.
//!
//! Entries are stored as text, byte for byte. One connection writes, others read; each call is a transaction on a
//! blocking thread, so that a slow disk delays no other turn and no reader blocks checkpoints of the write-ahead log.
//! Other processes may use the same database at the same time.

mod database;
mod fault;
mod grams;
mod read;
mod schema;
mod search;
mod transfer;
mod write;

use super::by_reading;
use super::query::Query;
use std::path::{Path, PathBuf};

use super::Durability;
use super::entry::Entry;
use super::erase::Erasure;
use super::error::Result;
use super::info::Info;
use super::lookup::Lookup;
use super::name::check_tape_name;
use super::revision::Revision;
use super::search::{Collector, Hit, Search};
use super::store::{Commit, Future, Outcome, Store};
use super::transaction::{self, ErasingTransaction};
use database::Database;
use read::TapeReader;

/// A database of tapes.
///
/// An archive is kept like a tape under its name, but is not listed and accepts no writes.
pub struct SqliteStore {
    database: Database,
}

impl SqliteStore {
    /// Opens the database at `path`; creates it with mode 600 if it is missing. On a network file system it is opened
    /// only if `shared_fs` states that only this machine uses it: SQLite's shared memory does not work between
    /// machines.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](super::Error::Io) if the directory is missing, or the file cannot be opened or is not a database;
    /// [`Error::InvalidInput`](super::Error::InvalidInput) if it is another program's or has another version, or is on
    /// a network file system.
    pub fn open(path: impl Into<PathBuf>, durability: Durability, shared_fs: bool) -> Result<Self> {
        Ok(Self { database: Database::open(path.into(), durability, shared_fs)? })
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Writes the database as it is between two transactions to a new file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](super::Error::Io) if the file exists or cannot be written.
    pub async fn snapshot(&self, to: &Path) -> Result<()> {
        self.database.copy_to(to).await
    }
}

impl Store for SqliteStore {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move {
            let Some(tape) = commit.tape()? else {
                return Ok(Outcome::Stored(Vec::new()));
            };
            let action = format!("append to tape `{tape}`");
            self.database.write(action, move |transaction| transaction::commit(transaction, commit)).await
        })
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let of = tape.to_owned();
            let action = format!("archive tape `{tape}`");
            self.database.peek(action, move |transaction| transaction::archive_name(transaction, &of)).await
        })
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let action = format!("reset tape `{tape}`");
            let tape = tape.to_owned();
            let reset = move |transaction: &mut dyn ErasingTransaction| {
                let archive = if archive { transaction::archive_name(transaction, &tape)? } else { None };
                transaction::commit(transaction, Commit::reset(&tape, archive.clone()))?;
                Ok(archive)
            };
            self.database.write(action, reset).await
        })
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        Box::pin(crate::transfer::append_numbered(self, tape, after, entries))
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        Box::pin(async move {
            let of = tape.to_owned();
            let action = format!("erase entries of tape `{tape}`");
            let erased = self.database.write(action, move |transaction| transaction.erase(&of, &erasure)).await?;
            if erased > 0 {
                self.database.empty_log().await?;
            }
            Ok(erased)
        })
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let of = tape.to_owned();
            let action = format!("list the sidecars of tape `{tape}`");
            self.database.peek(action, move |transaction| transaction.sidecars(&of)).await
        })
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        Box::pin(async move { self.database.look(tape, read::last_id).await })
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move { self.database.look(tape, move |seen| seen.page(after, max)).await })
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move { self.database.look(tape, move |seen| seen.tail(before, max)).await })
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        Box::pin(async move {
            let lookup = lookup.clone();
            self.database.look(tape, move |seen| seen.newest(&lookup, before)).await
        })
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        Box::pin(async move { self.database.look(tape, read::since_anchor).await })
    }

    fn revisions<'a>(&'a self, tapes: &'a [String]) -> Future<'a, Vec<Option<Revision>>> {
        Box::pin(self.database.revisions(tapes.to_owned()))
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move { self.database.names(after.unwrap_or_default().to_owned(), max).await })
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move { self.database.archives(after.unwrap_or_default().to_owned(), max).await })
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            check_tape_name(tape)?;
            // A write transaction begins by acquiring the write lock.
            self.database.write(format!("append to tape `{tape}`"), |_| Ok(())).await
        })
    }

    fn check_reachable(&self) -> Future<'_, ()> {
        Box::pin(async move { self.database.names(String::new(), 1).await.map(drop) })
    }

    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        Box::pin(async move {
            let info = self.database.look(tape, read::info).await?;
            Ok(Info { name: tape.to_owned(), ..info })
        })
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        Box::pin(async move {
            let found = Collector::new(search)?;
            let grams = grams::expression(&search.text);
            // Set when the future is dropped, so that the search stops.
            let stop = search::Stop::default();
            let stopped = stop.flag();
            let search = move |seen: &TapeReader<'_>| search::search(seen, found, grams.as_deref(), before, &stopped);
            self.database.look(tape, search).await
        })
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        by_reading::section(self, tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }
}
