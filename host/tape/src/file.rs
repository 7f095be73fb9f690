//! Tapes as JSON lines in one directory, byte-compatible with Bub's.
//!
//! Besides `T.jsonl` there are `T.jsonl.lock` (held by appends; it records the pending write), `T.jsonl.turn` (a turn's
//! journal), `T.jsonl.torn` (torn lines that were set aside), and archives. No entries are cached: readers start at the
//! end of the file, go back no further than necessary, and take no lock.

mod attach;
mod commit;
mod commit_record;
mod directory;
mod end;
mod erase;
mod file_cache;
mod find;
mod gc;
mod index;
mod index_cache;
mod numbered;
mod read;
mod scan;
mod search;
mod snapshot;
mod sparse_index;
mod sweep;
mod transfer;

use super::by_reading;
use super::query::Query;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Durability;
use super::entry::Entry;
use super::erase::Erasure;
use super::error::{Error, Result};
use super::info::Info;
use super::lock::{self, Lock, LockError, Queues};
use super::lookup::Lookup;
use super::name::{check_tape_name, family};
use super::revision::Revision;
use super::search::{Hit, Search};
use super::section;
use super::store::{Commit, Future, Outcome, Store};
use directory::{Directory, failed};
use index_cache::{IndexCache, run_blocking};

pub use attach::attach;
pub use erase::{Traces, empty_trash, erase_traces};
pub use gc::{Garbage, gc};
pub use index::Index;
pub use snapshot::SnapshotFile;

/// How long an append waits for the lock. An append takes microseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A directory of tapes.
pub struct FileStore {
    files: Arc<Directory>,
    queues: Arc<Queues>,
}

impl FileStore {
    /// The tapes in `dir`, which is created with mode 700 if it is missing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it cannot be created or is not a directory.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self> {
        Self::durable(dir, Durability::default())
    }

    /// Like [`open`](Self::open), with a durability of writes.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn durable(dir: impl Into<PathBuf>, durability: Durability) -> Result<Self> {
        Self::new(dir.into(), durability, IndexCache::default())
    }

    /// Like [`durable`](Self::durable), with indexes saved in `index` for later processes.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn indexed(dir: impl Into<PathBuf>, durability: Durability, index: impl Into<PathBuf>) -> Result<Self> {
        Self::new(dir.into(), durability, IndexCache::in_dir(index.into()))
    }

    fn new(dir: PathBuf, durability: Durability, indexes: IndexCache) -> Result<Self> {
        Ok(Self { files: Arc::new(Directory::open(dir, durability, indexes)?), queues: Arc::default() })
    }

    /// Bytes of tapes that were indexed since this store was opened.
    pub fn bytes_indexed(&self) -> u64 {
        self.files.indexes.bytes_folded()
    }

    /// The directory of the tapes.
    pub fn dir(&self) -> &Path {
        self.files.dir()
    }

    async fn lock(&self, action: &str, tape: &str) -> Result<Lock> {
        self.files.make().map_err(failed(action, tape))?;
        let path = self.files.lock_path(tape);
        let lock = Lock::wait(self.queues.get(family(tape)), &path, LOCK_TIMEOUT, |_| ()).await;
        lock.map_err(|refused| {
            let source = match refused {
                LockError::Busy => {
                    std::io::Error::new(ErrorKind::TimedOut, "another process has been writing for 5 seconds")
                }
                LockError::Io(source) => source,
            };
            failed(action, tape)(source)
        })
    }

    /// Runs a read; on a blocking thread if it may take long.
    async fn look<T: Send + 'static>(
        &self,
        tape: &str,
        read: impl FnOnce(&Directory, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if check_tape_name(tape).is_err() || !self.files.is_long_read(tape) {
            return read(&self.files, tape);
        }
        let (files, tape) = (Arc::clone(&self.files), tape.to_owned());
        run_blocking(move |_| read(&files, &tape)).await
    }

    /// Runs a write under the lock; on a blocking thread if it waits for the disk.
    async fn write(&self, tape: &str, lock: Lock, commit: Commit) -> Result<Outcome> {
        if self.files.durability == Durability::Os {
            return self.files.commit(family(tape), lock.file(), &commit);
        }
        let (files, tape) = (Arc::clone(&self.files), family(tape).to_owned());
        let task = tokio::task::spawn_blocking(move || files.commit(&tape, lock.file(), &commit));
        task.await.unwrap_or_else(|error| {
            Err(Error::Io { action: "write a tape".to_owned(), source: std::io::Error::other(error) })
        })
    }
}

impl Store for FileStore {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move {
            let Some(tape) = commit.tape()?.map(str::to_owned) else {
                return Ok(Outcome::Stored(Vec::new()));
            };
            let lock = self.lock("append to", &tape).await?;
            self.write(&tape, lock, commit).await
        })
    }

    fn pinned(&self, tape: &str) -> Result<Option<Arc<dyn Store>>> {
        check_tape_name(tape)?;
        let files = Arc::new(self.files.pinned(tape).map_err(failed("read", tape))?);
        Ok(Some(Arc::new(Self { files, queues: Arc::clone(&self.queues) })))
    }

    fn revisions<'a>(&'a self, tapes: &'a [String]) -> Future<'a, Vec<Option<Revision>>> {
        let (files, tapes) = (Arc::clone(&self.files), tapes.to_owned());
        Box::pin(run_blocking(move |_| tapes.iter().map(|tape| files.revision(tape)).collect()))
    }

    fn read_ahead(&self, tape: &str) {
        if check_tape_name(tape).is_err() || !self.files.is_long_read(tape) {
            return;
        }
        let (files, tape) = (Arc::clone(&self.files), tape.to_owned());
        let _detached = std::thread::Builder::new()
            .name("read-ahead".to_owned())
            .spawn(move || files.sweep_ahead(&tape).inspect_err(|error| tracing::debug!("cannot read ahead: {error}")));
    }

    fn prepare<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(self.look(tape, |files, tape| files.prepare(tape)))
    }

    fn index<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        let (files, tape) = (Arc::clone(&self.files), tape.to_owned());
        Box::pin(run_blocking(move |_| files.index(&tape)))
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let name = || match std::fs::metadata(self.files.path(tape, "")) {
                Ok(found) if found.len() > 0 || family(tape) != tape => self.files.archive_name(tape).map(Some),
                Ok(_) => Ok(None),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
            name().map_err(failed("archive", tape))
        })
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            // Under the lock, so that the name is still free when it is used.
            let lock = self.lock("reset", tape).await?;
            let archive = if archive { self.archive_name(tape).await? } else { None };
            self.write(tape, lock, Commit::reset(tape, archive.clone())).await?;
            Ok(archive)
        })
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        Box::pin(crate::transfer::append_numbered(self, tape, after, entries))
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let lock = self.lock("erase entries of", tape).await?;
            let (files, tape) = (Arc::clone(&self.files), tape.to_owned());
            // The lock is released when the work ends, even if the caller was cancelled.
            run_blocking(move |_| files.erase(&tape, lock.file(), &erasure)).await
        })
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            self.files.sidecars_of(tape).map_err(failed("list the sidecars of", tape))
        })
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        Box::pin(self.look(tape, |files, tape| files.last(tape)))
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(self.look(tape, move |files, tape| files.page(tape, after, max)))
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(self.look(tape, move |files, tape| files.tail(tape, before, max)))
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        let lookup = lookup.clone();
        Box::pin(self.look(tape, move |files, tape| files.newest(tape, &lookup, before)))
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            let of = name.to_owned();
            match self.look(tape, move |files, tape| files.section(tape, &of, before)).await? {
                Some(section) => Ok(section),
                None => section::walk(self, tape, name, before).await,
            }
        })
    }

    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        let (files, tape) = (Arc::clone(&self.files), tape.to_owned());
        Box::pin(run_blocking(move |_| files.info(&tape)))
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        let (files, tape, search) = (Arc::clone(&self.files), tape.to_owned(), search.clone());
        Box::pin(run_blocking(move |stop| files.search(&tape, &search, before, stop)))
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        Box::pin(self.look(tape, |files, tape| files.since_anchor(tape)))
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let names = self.files.names().map_err(|source| Error::Io {
                action: format!("list the tapes in `{}`", self.dir().display()),
                source,
            })?;
            let behind = names.into_iter().filter(|name| after.is_none_or(|after| name.as_str() > after));
            Ok(behind.take(max).collect())
        })
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            check_tape_name(tape)?;
            // An append creates the lock file first, so creating it shows whether the directory is writable.
            self.files.make().map_err(failed("append to", tape))?;
            lock::open(&self.files.lock_path(tape)).map_err(failed("append to", tape))?;
            match OpenOptions::new().append(true).open(self.files.path(tape, "")) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("append to", tape)(error)),
                _ => Ok(()),
            }
        })
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }
}
