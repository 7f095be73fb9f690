//! What is derived from the tapes of a directory: looked up instead of read, and found by searching.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use lru::LruCache;

use super::super::entry::Entry;
use super::super::error::{Error, Result};
use super::super::info::Info;
use super::super::lookup::Lookup;
use super::super::name::check_tape_name;
use super::super::summary::EntryOffset;
use super::directory::{Directory, failed};
use super::index::Index;
use super::numbered::NumberedLine;
use super::sweep::Swept;

/// How many tapes' indexes are kept in memory, a few kilobytes each.
const MAX_INDEXES: usize = 1024;

/// How many names they may hold together, so that a few with very many do not fill the memory: each is some 100 bytes.
const MAX_NAMES: usize = 128 * 1024;

/// How much is read of a tape on a thread that serves others, in bytes: a few milliseconds.
pub(super) const MAX_INLINE_READ: u64 = 1024 * 1024;

/// Indexes by the name of their tape.
pub(super) struct IndexCache {
    kept: Mutex<Entries>,
    /// Tapes whose ids on the lines are known not to grow.
    irregular: Mutex<HashSet<String>>,
    /// What was looked for in tapes that are not indexed, by the name of the tape.
    swept: Mutex<LruCache<String, Swept>>,
    /// How many bytes were folded.
    folded: AtomicU64,
    /// Where they outlive the process; none: nowhere.
    dir: Option<PathBuf>,
}

/// Tapes of which it is remembered what was looked for without an index.
const MAX_SWEEPS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// How far back of a long tape without an index the ids are looked at when a turn begins, in bytes.
const ID_SCAN_WINDOW: u64 = 8 * 1024 * 1024;

/// The ones that were used last.
struct Entries {
    indexes: LruCache<String, CachedIndex>,
    /// How many names they hold.
    names: usize,
}

/// An index, and the open file that it was compared with.
#[derive(Default)]
pub(super) struct CachedIndex {
    index: Index,
    file: Weak<File>,
}

impl CachedIndex {
    fn is_of(&self, file: &Arc<File>) -> bool {
        std::ptr::eq(self.file.as_ptr(), Arc::as_ptr(file))
    }

    fn catch_up(&mut self, file: &Arc<File>, end: u64, compared: bool) -> io::Result<()> {
        if compared && self.is_of(file) && self.index.length() <= end {
            return self.index.go_on(file, end);
        }
        self.file = Arc::downgrade(file);
        self.index.catch_up(file, end)
    }
}

impl Default for IndexCache {
    fn default() -> Self {
        let kept = Mutex::new(Entries { indexes: LruCache::unbounded(), names: 0 });
        Self {
            kept,
            irregular: Mutex::default(),
            swept: Mutex::new(LruCache::new(MAX_SWEEPS)),
            folded: AtomicU64::new(0),
            dir: None,
        }
    }
}

impl Entries {
    fn take(&mut self, tape: &str) -> Option<CachedIndex> {
        let cached = self.indexes.pop(tape)?;
        self.names -= cached.index.names();
        Some(cached)
    }

    fn put(&mut self, tape: &str, cached: CachedIndex) {
        self.take(tape);
        self.names += cached.index.names();
        self.indexes.put(tape.to_owned(), cached);
        while (self.indexes.len() > MAX_INDEXES || self.names > MAX_NAMES)
            && let Some((_, cached)) = self.indexes.pop_lru()
        {
            self.names -= cached.index.names();
        }
    }
}

impl IndexCache {
    pub(super) fn in_dir(dir: PathBuf) -> Self {
        Self { dir: Some(dir), ..Self::default() }
    }

    fn path(&self, tape: &str) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join(format!("{tape}.index")))
    }

    /// Taken out while it is worked with: a second reader at the same moment makes its own.
    fn take(&self, tape: &str) -> Option<CachedIndex> {
        self.lock().take(tape)
    }

    fn put(&self, tape: &str, cached: CachedIndex) {
        self.lock().put(tape, cached);
    }

    /// What was written behind the first `offset` bytes of the tape's file, up to `end`, by whoever wrote it: entries with where
    /// their lines begin, which need not be read for it.
    pub(super) fn extend(
        &self,
        tape: &str,
        file: &Arc<File>,
        (offset, end): (u64, u64),
        written: impl Iterator<Item = (Entry, u64)>,
    ) {
        let new = || (offset == 0).then(|| CachedIndex { file: Arc::downgrade(file), ..CachedIndex::default() });
        let Some(mut cached) = self.take(tape).or_else(new) else { return };
        // Where it is not as far, or is another file's, the next question lets it read.
        if cached.is_of(file) && cached.index.length() == offset {
            cached.index.extend(file, written, end);
        }
        self.put(tape, cached);
    }

    /// Whether what a tape's index knows can be had for little.
    pub(super) fn has(&self, tape: &str) -> bool {
        self.lock().indexes.contains(tape)
    }

    /// Whether more of the tape was folded than that.
    pub(super) fn is_beyond(&self, tape: &str, end: u64) -> bool {
        self.lock().indexes.peek(tape).is_some_and(|cached| cached.index.length() > end)
    }

    /// How much of that file of a tape was folded.
    fn length_of(&self, tape: &str, file: &Arc<File>) -> u64 {
        self.lock().indexes.peek(tape).filter(|cached| cached.is_of(file)).map_or(0, |cached| cached.index.length())
    }

    /// The tape's file is another one from here on.
    pub(super) fn forget(&self, tape: &str) {
        self.take(tape);
        self.clear_irregular(tape);
        if let Some(path) = self.path(tape) {
            let _removed = fs::remove_file(path);
        }
    }

    pub(super) fn has_irregular_ids(&self, tape: &str) -> bool {
        self.irregular().contains(tape)
    }

    /// Whether that was not known.
    pub(super) fn mark_irregular(&self, tape: &str) -> bool {
        self.irregular().insert(tape.to_owned())
    }

    pub(super) fn clear_irregular(&self, tape: &str) {
        self.irregular().remove(tape);
    }

    pub(super) fn bytes_folded(&self) -> u64 {
        self.folded.load(Ordering::Relaxed)
    }

    pub(super) fn swept(&self) -> MutexGuard<'_, LruCache<String, Swept>> {
        self.swept.lock()
    }

    fn irregular(&self) -> MutexGuard<'_, HashSet<String>> {
        self.irregular.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.kept.lock()
    }
}

impl Directory {
    /// Folds what was appended since the last time, and asks the index.
    pub(super) fn ask<T>(
        &self,
        tape: &str,
        file: &Arc<File>,
        end: u64,
        question: impl FnOnce(&Index) -> io::Result<T>,
    ) -> io::Result<T> {
        let path = self.indexes.path(tape);
        let mut cached = match (self.indexes.take(tape), &path) {
            (Some(cached), _) => cached,
            (None, Some(path)) => CachedIndex { index: Index::load(path, file, end), file: Weak::new() },
            (None, None) => CachedIndex::default(),
        };
        let before = cached.index.length();
        cached.catch_up(file, end, self.has_compared(tape))?;
        let folded = cached.index.length().checked_sub(before).unwrap_or(cached.index.length());
        self.indexes.folded.fetch_add(folded, Ordering::Relaxed);
        if cached.index.has_irregular_ids() {
            self.log_irregular(tape);
        }
        let answer = question(&cached.index)?;
        // Nothing but time is lost where it cannot be kept.
        if let Some(path) = path.filter(|_| cached.index.is_worth_saving())
            && let Err(error) = cached.index.save(&path)
        {
            tracing::debug!("the index `{}` cannot be kept: {error}", path.display());
        }
        self.indexes.put(tape, cached);
        Ok(answer)
    }

    pub(super) fn learn(&self, tape: &str, lookup: &Lookup, place: Option<EntryOffset>) {
        if let Some(mut cached) = self.indexes.take(tape) {
            // What was appended since is folded behind this, and stands over it.
            cached.index.learn(lookup, place);
            self.indexes.put(tape, cached);
        }
    }

    /// Learns how the tape is to be read, so that its entries have the same ids as long as the turn runs. Of a long tape that
    /// is not indexed, only the phase that its view begins with is looked at, or its last 8 MiB.
    pub(super) fn prepare(&self, tape: &str) -> Result<()> {
        check_tape_name(tape)?;
        let prepare = || match self.seen(tape)? {
            Some((file, end)) if self.indexes.length_of(tape, &file) >= end => Ok(()),
            Some((file, end)) if self.is_indexed(tape, &file, end) => self.ask(tape, &file, end, |_| Ok(())),
            Some((file, end)) => self.numbered(tape, &file, end, |of| {
                let mut entries = of.backward(end)?;
                while let Some(NumberedLine { start, entry }) = entries.next(&|_| true)? {
                    if entry.is_some_and(|entry| entry.begins_phase()) || end.saturating_sub(start) > ID_SCAN_WINDOW {
                        break;
                    }
                }
                Ok(())
            }),
            None => Ok(()),
        };
        prepare().map_err(failed("read", tape))
    }

    /// Indexes the whole tape.
    pub(super) fn index(&self, tape: &str) -> Result<()> {
        check_tape_name(tape)?;
        let index = || match self.seen(tape)? {
            Some((file, end)) => self.ask(tape, &file, end, |_| Ok(())),
            None => Ok(()),
        };
        index().map_err(failed("read", tape))
    }

    /// Whether asking the index costs little: it is at hand, and little of the tape was written since.
    pub(super) fn is_indexed(&self, tape: &str, file: &Arc<File>, end: u64) -> bool {
        let is_near = |length: u64| end.saturating_sub(length) <= MAX_INLINE_READ;
        if is_near(self.indexes.length_of(tape, file)) {
            return true;
        }
        if self.indexes.has(tape) {
            // One of another file: holding it against this one costs a look at its edges.
            let Some(cached) = self.indexes.take(tape) else { return false };
            let is_of = cached.is_of(file);
            let fits = is_of || cached.index.fits(file, end);
            let length = cached.index.length();
            if fits {
                self.indexes.put(tape, CachedIndex { file: Arc::downgrade(file), ..cached });
            }
            return fits && is_near(length);
        }
        let Some(path) = self.indexes.path(tape) else { return false };
        let index = Index::load(&path, file, end);
        let length = index.length();
        if length > 0 {
            self.indexes.put(tape, CachedIndex { index, file: Arc::downgrade(file) });
        }
        is_near(length)
    }

    /// Whether so much of the tape was not folded that this is no work for a thread that serves others.
    pub(super) fn is_long_read(&self, tape: &str) -> bool {
        let length = fs::metadata(self.path(tape, "")).map_or(0, |found| found.len());
        let folded = || self.indexes.lock().indexes.peek(tape).map_or(0, |cached| cached.index.length());
        length > MAX_INLINE_READ && length.saturating_sub(folded()) > MAX_INLINE_READ
    }

    pub(super) fn info(&self, tape: &str) -> Result<Info> {
        check_tape_name(tape)?;
        let info = || match self.seen(tape)? {
            Some((file, end)) => self.ask(tape, &file, end, |index| Ok(index.whole(&file, end)?.info(tape))),
            None => Ok(Info::of(tape)),
        };
        info().map_err(failed("read", tape))
    }
}

/// Runs what may take long beside the other tasks. It is told to stop when nobody waits for it any more.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send + 'static,
) -> Result<T> {
    struct Stop(Arc<AtomicBool>);
    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let _stop = Stop(Arc::clone(&stop));
    let task = tokio::task::spawn_blocking(move || work(&stop));
    let gone = |error| Error::Io { action: "look through a tape".to_owned(), source: io::Error::other(error) };
    task.await.map_err(gone)?
}
