//! The directory of tapes: names and visible lengths of its files.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::error::{Error, Result};
use super::super::name::{self, check_tape_name, family, is_listed};
use super::super::{Durability, date, failpoint};
use super::commit_record::Slots;
use super::end::{End, Tail};
use super::file_cache::FileCache;
use super::index_cache::IndexCache;
use super::numbered::NumberedFile;

/// The directory of tapes that were reset without an archive.
pub(super) const TRASH: &str = "trash";

/// How long they are kept there.
pub(super) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum attempts to read a tape that is being written.
const LOOKS: usize = 1000;

/// Operations on the files of a directory that wait for no lock. Clones share their caches.
#[derive(Clone)]
pub(super) struct Directory {
    dir: PathBuf,
    pub(super) durability: Durability,
    pub(super) opened: Arc<FileCache>,
    pub(super) indexes: Arc<IndexCache>,
    pinned: Option<Arc<Pinned>>,
}

/// A snapshot of a tape for reading.
struct Pinned {
    tape: String,
    /// The visible part of its file at that time.
    sight: Option<Sight>,
    /// Whether its entries have the ids on their lines, as known at that time.
    by_lines: bool,
    /// Whether its index was compared with the file since.
    compared: AtomicBool,
}

/// A tape's file, and its visible length.
type Sight = (Arc<File>, u64);

impl Directory {
    pub(super) fn open(dir: PathBuf, durability: Durability, indexes: IndexCache) -> Result<Self> {
        let found = match fs::metadata(&dir) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(ErrorKind::NotADirectory.into()),
            // The first write creates it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        found.map_err(|source| Error::Io {
            action: format!("open the directory of tapes `{}`", dir.display()),
            source,
        })?;
        Ok(Self { dir, durability, opened: Arc::default(), indexes: Arc::new(indexes), pinned: None })
    }

    /// Creates the directory if it is missing, before a write.
    pub(super) fn make(&self) -> io::Result<()> {
        if self.dir.is_dir() { Ok(()) } else { private_dir(&self.dir) }
    }

    /// A clone in which that tape is read as it is now.
    pub(super) fn pinned(&self, tape: &str) -> io::Result<Self> {
        let (sight, by_lines) = (self.seen(tape)?, !self.indexes.has_irregular_ids(tape));
        let pinned = Pinned { tape: tape.to_owned(), sight, by_lines, compared: AtomicBool::new(false) };
        Ok(Self { pinned: Some(Arc::new(pinned)), ..self.clone() })
    }

    /// Whether the tape's index was compared with the pinned file already; marks it as compared.
    pub(super) fn has_compared(&self, tape: &str) -> bool {
        self.pin_of(tape).is_some_and(|pinned| pinned.compared.swap(true, Ordering::Relaxed))
    }

    /// Whether the tape is pinned, with its entries numbered by the ids on their lines.
    pub(super) fn is_read_by_lines(&self, tape: &str) -> bool {
        self.pin_of(tape).is_some_and(|pinned| pinned.by_lines)
    }

    fn pin_of(&self, tape: &str) -> Option<&Pinned> {
        self.pinned.as_deref().filter(|pinned| pinned.tape == tape)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A file of a tape: `suffix` is empty for the tape itself.
    pub(super) fn path(&self, tape: &str, suffix: &str) -> PathBuf {
        self.dir.join(format!("{tape}.jsonl{suffix}"))
    }

    /// The lock file for appends to the tape and its sidecars.
    pub(super) fn lock_path(&self, tape: &str) -> PathBuf {
        self.path(family(tape), ".lock")
    }

    /// The tape's file and its visible length, which never includes part of a write. `None` if there is no file.
    pub(super) fn seen(&self, tape: &str) -> io::Result<Option<Sight>> {
        // An index that is ahead of the pinned end would have to be rebuilt for each query.
        if let Some(Pinned { sight, .. }) = self.pin_of(tape)
            && !self.indexes.is_beyond(tape, sight.as_ref().map_or(0, |(_, end)| *end))
        {
            return Ok(sight.clone());
        }
        let mut before = self.slots(tape)?;
        for _ in 0..LOOKS {
            let Some((file, length)) = self.opened.read(tape, &self.path(tape, ""))? else {
                return Ok(None);
            };
            let sum = before.as_ref().map(|look| look.sum);
            if let Some(end) = self.opened.seen(tape, &file, (sum, length)) {
                return Ok(Some((file, end)));
            }
            let whole = whole_lines(&file, length)?;
            let after = self.slots(tape)?;
            if sum == after.as_ref().map(|look| look.sum) {
                let name = format!("{tape}.jsonl");
                let pending = after.and_then(|slots| slots.record().pending);
                let blocks = pending.iter().flat_map(|pending| &pending.blocks);
                let begun = blocks.filter(|block| block.file == name).map(|block| block.offset);
                let end = begun.fold(whole, u64::min);
                self.opened.saw(tape, &file, (sum, length), end);
                return Ok(Some((file, end)));
            }
            before = after;
        }
        Err(io::Error::new(ErrorKind::TimedOut, "the tape is being written all the time"))
    }

    /// The slots of the tape's lock file. `None`: no process with this protocol has written the tape.
    pub(super) fn slots(&self, tape: &str) -> io::Result<Option<Slots>> {
        let Some(lock) = self.opened.lock_file(&self.lock_path(tape)) else { return Ok(None) };
        Slots::read(&lock).map(Some)
    }

    /// The end of the visible part.
    pub(super) fn end(&self, tape: &str, file: &Arc<File>, length: u64) -> io::Result<End> {
        if let Some(end) = self.opened.end(tape, file, length) {
            return Ok(end);
        }
        let end = self.numbered(tape, file, length, |of| of.last())?;
        if end.tail == Tail::Nothing {
            self.opened.remember(tape, file, length, end.last_id);
        }
        Ok(end)
    }

    /// Offset after the entries before `before` (`None`: all of them).
    pub(super) fn before(
        &self,
        tape: &str,
        file: &Arc<File>,
        of: &NumberedFile<'_>,
        before: Option<u64>,
    ) -> io::Result<u64> {
        match before {
            Some(_) => of.before(before, self.end(tape, file, of.end)?.last_id),
            None => Ok(of.end),
        }
    }

    /// The name for an archive made now.
    pub(super) fn archive_name(&self, tape: &str) -> io::Result<String> {
        self.free_name(&name::archive_name(tape))
    }

    /// The name, with a number appended if it is taken.
    pub(super) fn free_name(&self, name: &str) -> io::Result<String> {
        name::free(name, |name| self.dir.join(name).try_exists())
    }

    /// Moves a tape's file into an archive or the trash, without overwriting. Returns the archive's name; `moved` gets
    /// the tape with its new path.
    pub(super) fn move_away(
        &self,
        tape: &str,
        archive: Option<&str>,
        moved: &mut Vec<(String, PathBuf)>,
    ) -> io::Result<Option<String>> {
        let path = self.path(tape, "");
        self.opened.forget(tape);
        self.indexes.clear_irregular(tape);
        // An empty file of an interrupted write counts as missing.
        if fs::metadata(&path).map_or(0, |found| found.len()) == 0 && family(tape) == tape {
            return Ok(None);
        }
        if !path.try_exists()? {
            return Ok(None);
        }
        if let Some(archive) = archive
            && (!archive.starts_with(tape) || archive.contains('/'))
        {
            return Err(io::Error::new(ErrorKind::InvalidInput, "that is no name for an archive"));
        }
        loop {
            let (name, target) = match archive {
                Some(archive) => {
                    let name = self.free_name(archive)?;
                    let target = self.dir.join(&name);
                    (Some(name), target)
                }
                None => (None, self.trash(tape)?),
            };
            match renameat_with(CWD, &path, CWD, &target, RenameFlags::NOREPLACE) {
                Ok(()) => {}
                Err(rustix::io::Errno::EXIST) => continue,
                // The file system does not support it: the name was free just now, and we hold the lock.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(&path, &target)?,
                Err(error) => return Err(error.into()),
            }
            if archive.is_none() {
                // A rename keeps the modification time, which may be old; the retention starts now.
                let _kept =
                    File::options().append(true).open(&target).and_then(|file| file.set_modified(SystemTime::now()));
            }
            moved.push((tape.to_owned(), target));
            failpoint::point("commit.moved");
            self.sync_dir()?;
            return Ok(name);
        }
    }

    fn trash(&self, tape: &str) -> io::Result<PathBuf> {
        let trash = self.dir.join(TRASH);
        private_dir(&trash)?;
        self.empty_trash(SystemTime::now());
        let target = name::free(&format!("{tape}.jsonl.{}", date::stamp()), |name| trash.join(name).try_exists())?;
        Ok(trash.join(target))
    }

    /// Removes files from the trash after a day; returns their number and size.
    pub(super) fn empty_trash(&self, now: SystemTime) -> (u64, u64) {
        let mut removed = (0, 0);
        for found in fs::read_dir(self.dir.join(TRASH)).into_iter().flatten().flatten() {
            let Ok(about) = found.metadata() else { continue };
            // It was set when the file was moved here.
            let moved = about.modified().ok().and_then(|time| now.duration_since(time).ok());
            if moved.is_some_and(|age| age > KEPT) && fs::remove_file(found.path()).is_ok() {
                removed = (removed.0 + 1, removed.1 + about.len());
            }
        }
        removed
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let listed = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(names),
            listed => listed?,
        };
        for found in listed {
            let file = found?.file_name();
            let stem = file.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            names.extend(stem.filter(|stem| is_listed(stem) && check_tape_name(stem).is_ok()).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Syncs the file, if the durability asks for it.
    pub(super) fn sync(&self, file: &File) -> io::Result<()> {
        if self.durability == Durability::Fsync { file.sync_data() } else { Ok(()) }
    }

    pub(super) fn sync_dir(&self) -> io::Result<()> {
        if self.durability == Durability::Fsync { File::open(&self.dir)?.sync_all() } else { Ok(()) }
    }
}

/// `length` without a torn last line, which the next append moves away.
fn whole_lines(file: &File, length: u64) -> io::Result<u64> {
    let mut last = [0];
    let ended = length == 0 || (file.read_at(&mut last, length - 1)? == 1 && last == *b"\n");
    if ended {
        return Ok(length);
    }
    Ok(match End::read(file, length)?.tail {
        Tail::Torn(start) => start,
        Tail::Nothing | Tail::Whole => length,
    })
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn failed(action: &str, tape: &str) -> impl FnOnce(io::Error) -> Error {
    let action = format!("{action} tape `{tape}`");
    move |source| Error::Io { action, source }
}
