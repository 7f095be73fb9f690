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

use super::super::digest::Place;
use super::super::entry::Entry;
use super::super::error::{Error, Result};
use super::super::info::Info;
use super::super::name::check_tape_name;
use super::super::sought::Sought;
use super::directory::{Directory, failed};
use super::index::Index;
use super::numbered::Seen;
use super::sweep::Swept;

/// How many tapes' indexes are kept in memory, a few kilobytes each.
const KEPT: usize = 1024;

/// How many names they may hold together, so that a few with very many do not fill the memory: each is some 100 bytes.
const NAMES: usize = 128 * 1024;

/// How much is read of a tape on a thread that serves others, in bytes: a few milliseconds.
pub(super) const FAR: u64 = 1024 * 1024;

/// Indexes by the name of their tape.
pub(super) struct Indexes {
    kept: Mutex<Kept>,
    /// Tapes whose ids on the lines are known not to grow.
    odd: Mutex<HashSet<String>>,
    /// What was looked for in tapes that are not indexed, by the name of the tape.
    swept: Mutex<LruCache<String, Swept>>,
    /// How many bytes were folded.
    folded: AtomicU64,
    /// Where they outlive the process; none: nowhere.
    dir: Option<PathBuf>,
}

/// Tapes of which it is remembered what was looked for without an index.
const SWEPT: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// How far back of a long tape without an index the ids are looked at when a turn begins, in bytes.
const WINDOW: u64 = 8 * 1024 * 1024;

/// The ones that were used last.
struct Kept {
    indexes: LruCache<String, Level>,
    /// How many names they hold.
    names: usize,
}

/// An index, and the open file that it was compared with.
#[derive(Default)]
pub(super) struct Level {
    index: Index,
    file: Weak<File>,
}

impl Level {
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

impl Default for Indexes {
    fn default() -> Self {
        let kept = Mutex::new(Kept { indexes: LruCache::unbounded(), names: 0 });
        Self {
            kept,
            odd: Mutex::default(),
            swept: Mutex::new(LruCache::new(SWEPT)),
            folded: AtomicU64::new(0),
            dir: None,
        }
    }
}

impl Kept {
    fn take(&mut self, tape: &str) -> Option<Level> {
        let level = self.indexes.pop(tape)?;
        self.names -= level.index.names();
        Some(level)
    }

    fn put(&mut self, tape: &str, level: Level) {
        self.take(tape);
        self.names += level.index.names();
        self.indexes.put(tape.to_owned(), level);
        while (self.indexes.len() > KEPT || self.names > NAMES)
            && let Some((_, level)) = self.indexes.pop_lru()
        {
            self.names -= level.index.names();
        }
    }
}

impl Indexes {
    pub(super) fn in_dir(dir: PathBuf) -> Self {
        Self { dir: Some(dir), ..Self::default() }
    }

    fn path(&self, tape: &str) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join(format!("{tape}.index")))
    }

    /// Taken out while it is worked with: a second reader at the same moment makes its own.
    fn take(&self, tape: &str) -> Option<Level> {
        self.lock().take(tape)
    }

    fn put(&self, tape: &str, level: Level) {
        self.lock().put(tape, level);
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
        let new = || (offset == 0).then(|| Level { file: Arc::downgrade(file), ..Level::default() });
        let Some(mut level) = self.take(tape).or_else(new) else { return };
        // Where it is not as far, or is another file's, the next question lets it read.
        if level.is_of(file) && level.index.length() == offset {
            level.index.extend(file, written, end);
        }
        self.put(tape, level);
    }

    /// Whether what a tape's index knows can be had for little.
    pub(super) fn has(&self, tape: &str) -> bool {
        self.lock().indexes.contains(tape)
    }

    /// Whether more of the tape was folded than that.
    pub(super) fn is_beyond(&self, tape: &str, end: u64) -> bool {
        self.lock().indexes.peek(tape).is_some_and(|level| level.index.length() > end)
    }

    /// How much of that file of a tape was folded.
    fn length_of(&self, tape: &str, file: &Arc<File>) -> u64 {
        self.lock().indexes.peek(tape).filter(|level| level.is_of(file)).map_or(0, |level| level.index.length())
    }

    /// The tape's file is another one from here on.
    pub(super) fn forget(&self, tape: &str) {
        self.take(tape);
        self.forget_odd(tape);
        if let Some(path) = self.path(tape) {
            let _removed = fs::remove_file(path);
        }
    }

    pub(super) fn is_odd(&self, tape: &str) -> bool {
        self.odd().contains(tape)
    }

    /// Whether that was not known.
    pub(super) fn add_odd(&self, tape: &str) -> bool {
        self.odd().insert(tape.to_owned())
    }

    pub(super) fn forget_odd(&self, tape: &str) {
        self.odd().remove(tape);
    }

    pub(super) fn bytes_folded(&self) -> u64 {
        self.folded.load(Ordering::Relaxed)
    }

    pub(super) fn swept(&self) -> MutexGuard<'_, LruCache<String, Swept>> {
        self.swept.lock()
    }

    fn odd(&self) -> MutexGuard<'_, HashSet<String>> {
        self.odd.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
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
        let mut level = match (self.indexes.take(tape), &path) {
            (Some(level), _) => level,
            (None, Some(path)) => Level { index: Index::load(path, file, end), file: Weak::new() },
            (None, None) => Level::default(),
        };
        let before = level.index.length();
        level.catch_up(file, end, self.has_compared(tape))?;
        let folded = level.index.length().checked_sub(before).unwrap_or(level.index.length());
        self.indexes.folded.fetch_add(folded, Ordering::Relaxed);
        if level.index.is_odd() {
            self.note_odd(tape);
        }
        let answer = question(&level.index)?;
        // Nothing but time is lost where it cannot be kept.
        if let Some(path) = path.filter(|_| level.index.is_worth_saving())
            && let Err(error) = level.index.save(&path)
        {
            tracing::debug!("the index `{}` cannot be kept: {error}", path.display());
        }
        self.indexes.put(tape, level);
        Ok(answer)
    }

    pub(super) fn learn(&self, tape: &str, sought: &Sought, place: Option<Place>) {
        if let Some(mut level) = self.indexes.take(tape) {
            // What was appended since is folded behind this, and stands over it.
            level.index.learn(sought, place);
            self.indexes.put(tape, level);
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
                while let Some(Seen { start, entry }) = entries.next(&|_| true)? {
                    if entry.is_some_and(|entry| entry.begins_phase()) || end.saturating_sub(start) > WINDOW {
                        break;
                    }
                }
                Ok(())
            }),
            None => Ok(()),
        };
        prepare().map_err(failed("read", tape))
    }

    /// Indexes all of the tape.
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
        let is_near = |length: u64| end.saturating_sub(length) <= FAR;
        if is_near(self.indexes.length_of(tape, file)) {
            return true;
        }
        if self.indexes.has(tape) {
            // One of another file: holding it against this one costs a look at its edges.
            let Some(level) = self.indexes.take(tape) else { return false };
            let is_of = level.is_of(file);
            let fits = is_of || level.index.fits(file, end);
            let length = level.index.length();
            if fits {
                self.indexes.put(tape, Level { file: Arc::downgrade(file), ..level });
            }
            return fits && is_near(length);
        }
        let Some(path) = self.indexes.path(tape) else { return false };
        let index = Index::load(&path, file, end);
        let length = index.length();
        if length > 0 {
            self.indexes.put(tape, Level { index, file: Arc::downgrade(file) });
        }
        is_near(length)
    }

    /// Whether so much of the tape was not folded that this is no work for a thread that serves others.
    pub(super) fn is_far(&self, tape: &str) -> bool {
        let length = fs::metadata(self.path(tape, "")).map_or(0, |found| found.len());
        let folded = || self.indexes.lock().indexes.peek(tape).map_or(0, |level| level.index.length());
        length > FAR && length.saturating_sub(folded()) > FAR
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
pub(super) async fn beside<T: Send + 'static>(
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
