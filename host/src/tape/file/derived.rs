//! What is derived from the tapes of a directory: looked up instead of read, and found by searching.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lru::LruCache;

use super::super::digest::{Newest, Place};
use super::super::entry::Entry;
use super::super::error::{Error, Result};
use super::super::info::Info;
use super::super::name::check_tape_name;
use super::super::search::{Collector, Hit, Search};
use super::super::sought::Sought;
use super::super::zone;
use super::directory::{Directory, failed};
use super::end::{End, Tail};
use super::index::Index;
use super::numbered::{Numbered, Seen, odd};
use super::sweep::Swept;

/// How many tapes' indexes are kept in memory, a few kilobytes each.
const KEPT: usize = 1024;

/// How many names they may hold together, so that a few with very many do not fill the memory: each is some 100 bytes.
const NAMES: usize = 128 * 1024;

/// How far back the newest entry of a sort is looked for before the index is asked, in bytes.
const NEAR: u64 = 64 * 1024;

/// How much is read of a tape on a thread that serves others, in bytes: a few milliseconds.
const FAR: u64 = 1024 * 1024;

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
    fn has(&self, tape: &str) -> bool {
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

    fn swept(&self) -> MutexGuard<'_, LruCache<String, Swept>> {
        self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn odd(&self) -> MutexGuard<'_, HashSet<String>> {
        self.odd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn learn(&self, tape: &str, sought: &Sought, place: Option<Place>) {
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
    fn is_indexed(&self, tape: &str, file: &Arc<File>, end: u64) -> bool {
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

    /// The newest entry before `before` that is sought: by the index where it is in memory, else near the end by looking,
    /// and further back by the index.
    pub(super) fn newest(&self, tape: &str, sought: &Sought, before: Option<u64>) -> Result<Option<Entry>> {
        check_tape_name(tape)?;
        let find = || match self.seen(tape)? {
            Some((file, end)) => {
                self.numbered(tape, &file, end, |of| {
                    let last_id = self.end(tape, &file, of.end)?.last_id;
                    let found = self.newest_of(tape, &file, of, (sought, before))?;
                    // What stands before the last entry has a lower id, where the lines number the entries.
                    match &found {
                        Some(entry) if of.marks.is_none() && entry.id > last_id => Err(odd()),
                        _ => Ok(found),
                    }
                })
            }
            None => Ok(None),
        };
        find().map_err(failed("read", tape))
    }

    fn newest_of(
        &self,
        tape: &str,
        file: &Arc<File>,
        of: &Numbered<'_>,
        (sought, before): (&Sought, Option<u64>),
    ) -> io::Result<Option<Entry>> {
        // Whoever asks for all that is there asks for no less than who names no end.
        let End { last_id, tail, .. } = self.end(tape, file, of.end)?;
        let before = before.filter(|before| *before <= last_id);
        // What is kept of an index may say anything: also that the ids on the lines are those of the entries.
        let fits = |index: &Index| of.marks.is_none() || index.is_odd();
        let question = |index: &Index| match fits(index) {
            true => index.newest(file, sought, before),
            false => Ok(Newest::Unknown),
        };
        let asks = || match self.ask(tape, file, of.end, question)? {
            Newest::Known(entry) => Ok::<_, io::Error>(Some(Some(entry))),
            Newest::Nothing => Ok(Some(None)),
            Newest::Unknown => Ok(None),
        };
        // An entry that lacks its newline stands in no index.
        let is_indexed = of.marks.is_some() || self.is_indexed(tape, file, of.end);
        let mut asked = tail == Tail::Nothing && is_indexed && self.indexes.has(tape);
        if asked && let Some(found) = asks()? {
            return Ok(found);
        }
        let from = of.before(before, last_id)?;
        let mut lines = of.backward(from)?;
        let glance = sought.glance();
        let learn = |asked: bool, place: Option<Place>| {
            if asked && before.is_none() {
                self.learn(tape, sought, place);
            }
        };
        while let Some(Seen { start, entry }) = lines.next(&|line| glance.may_be(line))? {
            if let Some(entry) = entry
                && before.is_none_or(|before| entry.id < before)
                && sought.is(&entry)
            {
                learn(asked, Some(Place { id: entry.id, offset: start }));
                return Ok(Some(entry));
            }
            let is_far = from.saturating_sub(start) > NEAR;
            if !asked && is_far && is_indexed {
                asked = true;
                if let Some(found) = asks()? {
                    return Ok(found);
                }
            } else if is_far && !is_indexed && before.is_none() {
                match self.swept(tape, file, sought) {
                    Some((until, found)) if until >= start => return Ok(found),
                    // Little was written since: it is looked at here.
                    Some((until, _)) if start - until <= FAR => {}
                    _ => return self.sweep(tape, file, start, sought),
                }
            }
        }
        learn(asked, None);
        Ok(None)
    }

    /// The newest that is sought in the first `end` bytes of a long tape without an index. What a turn looks up besides is
    /// looked for at the same time.
    fn sweep(&self, tape: &str, file: &Arc<File>, end: u64, sought: &Sought) -> io::Result<Option<Entry>> {
        let swept = Swept::of(file, end, sought)?;
        let found = swept.knows(file, sought).cloned().flatten();
        self.indexes.swept().put(tape.to_owned(), swept);
        Ok(found)
    }

    /// What an earlier pass has found, and of how many bytes.
    fn swept(&self, tape: &str, file: &Arc<File>, sought: &Sought) -> Option<(u64, Option<Entry>)> {
        let mut swept = self.indexes.swept();
        let swept = swept.get(tape)?;
        Some((swept.end, swept.knows(file, sought)?.clone()))
    }

    /// The zone of that name that holds, by the index; none where the index cannot tell.
    pub(super) fn zone(&self, tape: &str, name: &str, before: Option<u64>) -> Result<Option<Vec<Entry>>> {
        check_tape_name(tape)?;
        let find = || {
            let Some((file, end)) = self.seen(tape)? else {
                return Ok(Some((Vec::new(), 0)));
            };
            if !self.is_indexed(tape, &file, end) {
                return Ok(None);
            }
            let place = match self.ask(tape, &file, end, |index| Ok(index.whole(&file, end)?.zone(name)))? {
                Newest::Known(place) if before.is_none_or(|before| place.seal.id < before) => place,
                Newest::Nothing => return Ok(Some((Vec::new(), 0))),
                _ => return Ok(None),
            };
            let found = self.numbered(tape, &file, end, |of| {
                let mut entries = of.from(place.open.offset)?;
                let mut found: Vec<Entry> = Vec::new();
                while found.len() <= zone::longest()
                    && found.last().is_none_or(|last| last.id < place.seal.id)
                    && let Some((_, entry)) = entries.next()?
                {
                    found.push(entry);
                }
                Ok(found)
            })?;
            // What is kept of an index may say anything.
            let mark = |entry: Option<&Entry>| entry.and_then(zone::Mark::of).map(|mark| (mark.zone, mark.version));
            let expected = Some((name.to_owned(), place.version));
            let fits = found.len() > zone::longest() || mark(found.last()) == expected;
            Ok((fits && mark(found.first()) == expected).then_some((found, place.seal.id)))
        };
        let found = find().map_err(failed("read", tape))?;
        match found {
            Some((entries, _)) if entries.is_empty() => Ok(Some(entries)),
            Some((entries, seal)) => zone::check(name, &entries, seal).map(|()| Some(entries)),
            None => Ok(None),
        }
    }

    pub(super) fn search(
        &self,
        tape: &str,
        search: &Search,
        before: Option<u64>,
        stop: &AtomicBool,
    ) -> Result<Vec<Hit>> {
        check_tape_name(tape)?;
        // What is wrong with it is said before the tape is looked at.
        Collector::new(search)?;
        let look = || match self.seen(tape)? {
            Some((file, end)) => self.numbered(tape, &file, end, |of| {
                let found = Collector::new(search).map_err(io::Error::other)?;
                let end = self.before(tape, &file, of, before)?;
                super::search::search(of, end, found, stop)
            }),
            None => Ok(Vec::new()),
        };
        look().map_err(failed("search", tape))
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
