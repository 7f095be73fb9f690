//! The cache of indexes of a directory's tapes.

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

/// Maximum indexes in memory, a few kilobytes each.
const MAX_INDEXES: usize = 1024;

/// Maximum names in all indexes in memory, about 100 bytes each.
const MAX_NAMES: usize = 128 * 1024;

/// Maximum bytes to read on a runtime thread: a few milliseconds.
pub(super) const MAX_INLINE_READ: u64 = 1024 * 1024;

/// Indexes by the name of their tape.
pub(super) struct IndexCache {
    kept: Mutex<Entries>,
    /// Tapes whose ids on the lines are known not to grow.
    irregular: Mutex<HashSet<String>>,
    /// Results of sweeps through tapes without an index, by tape.
    swept: Mutex<LruCache<String, Swept>>,
    /// Held during a sweep, which uses all processors by itself.
    sweeping: Mutex<()>,
    /// Bytes indexed so far.
    folded: AtomicU64,
    /// Directory of saved indexes; none: they are not saved.
    dir: Option<PathBuf>,
}

/// Maximum tapes with cached sweeps.
const MAX_SWEEPS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Bytes at the end of a long tape without an index whose ids are checked when a turn begins.
const ID_SCAN_WINDOW: u64 = 8 * 1024 * 1024;

/// Indexes in memory, least recently used evicted first.
struct Entries {
    indexes: LruCache<String, CachedIndex>,
    /// Number of names in them.
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
            sweeping: Mutex::default(),
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

    /// Removes it from the cache while in use: a concurrent reader builds its own.
    fn take(&self, tape: &str) -> Option<CachedIndex> {
        self.lock().take(tape)
    }

    fn put(&self, tape: &str, cached: CachedIndex) {
        self.lock().put(tape, cached);
    }

    /// Adds entries that this process wrote from `offset` to `end`, with the offsets of their lines, so that they need
    /// not be read.
    pub(super) fn extend(
        &self,
        tape: &str,
        file: &Arc<File>,
        (offset, end): (u64, u64),
        written: impl Iterator<Item = (Entry, u64)>,
    ) {
        let new = || (offset == 0).then(|| CachedIndex { file: Arc::downgrade(file), ..CachedIndex::default() });
        let Some(mut cached) = self.take(tape).or_else(new) else { return };
        // An index that is behind or of another file catches up at the next query.
        if cached.is_of(file) && cached.index.length() == offset {
            cached.index.extend(file, written, end);
        }
        self.put(tape, cached);
    }

    /// Whether the tape's index is in memory.
    pub(super) fn has(&self, tape: &str) -> bool {
        self.lock().indexes.contains(tape)
    }

    /// Whether the index covers more than `end` bytes.
    pub(super) fn is_beyond(&self, tape: &str, end: u64) -> bool {
        self.lock().indexes.peek(tape).is_some_and(|cached| cached.index.length() > end)
    }

    /// How many bytes of that file are indexed.
    fn length_of(&self, tape: &str, file: &Arc<File>) -> u64 {
        self.lock().indexes.peek(tape).filter(|cached| cached.is_of(file)).map_or(0, |cached| cached.index.length())
    }

    /// Drops the index: the tape's file was replaced.
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

    /// Marks the tape as irregular; returns whether that is new.
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

    pub(super) fn sweeping(&self) -> MutexGuard<'_, ()> {
        self.sweeping.lock()
    }

    fn irregular(&self) -> MutexGuard<'_, HashSet<String>> {
        self.irregular.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.kept.lock()
    }
}

impl Directory {
    /// Brings the index up to date and queries it.
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
        if cached.index.has_irregular_ids() || cached.index.ends_irregularly(file, end)? {
            self.log_irregular(tape);
        }
        let answer = question(&cached.index)?;
        // An index that cannot be saved is rebuilt.
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
            // Entries appended since then are indexed later and override this.
            cached.index.learn(lookup, place);
            self.indexes.put(tape, cached);
        }
    }

    /// Checks how the tape is numbered, so that its entries keep their ids for the whole turn. Of a long tape without
    /// an index only the current phase, or the last 8 MiB, is checked.
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

    /// Whether a query by the index is cheap: it is in memory and almost up to date.
    pub(super) fn is_indexed(&self, tape: &str, file: &Arc<File>, end: u64) -> bool {
        let is_near = |length: u64| end.saturating_sub(length) <= MAX_INLINE_READ;
        if is_near(self.indexes.length_of(tape, file)) {
            return true;
        }
        if self.indexes.has(tape) {
            // An index of another open file is compared with this one by its edges.
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

    /// Whether too much is unindexed for a runtime thread.
    pub(super) fn is_long_read(&self, tape: &str) -> bool {
        let length = fs::metadata(self.path(tape, "")).map_or(0, |found| found.len());
        let folded = || self.indexes.lock().indexes.peek(tape).map_or(0, |cached| cached.index.length());
        length > MAX_INLINE_READ && length.saturating_sub(folded()) > MAX_INLINE_READ
    }

    pub(super) fn info(&self, tape: &str) -> Result<Info> {
        check_tape_name(tape)?;
        let info = || match self.seen(tape)? {
            Some((file, end)) => self.ask(tape, &file, end, |index| Ok(index.whole(&file, end)?.info(tape))),
            None => Ok(Info::new(tape)),
        };
        info().map_err(failed("read", tape))
    }
}

/// Runs blocking work on a blocking thread. The flag is set when the future is dropped.
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
