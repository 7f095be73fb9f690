//! Tapes as JSON lines in one directory, the same bytes as Bub's.
//!
//! Beside `T.jsonl` lie `T.jsonl.lock`, which appends hold, `T.jsonl.torn`, where half lines are set aside, and archives.
//! Nothing of a tape is kept in memory: readers begin at the end of the file and go back no further than they must, and
//! take no lock.

mod append;
mod end;
mod lock;
mod scan;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::date;
use super::draft::Draft;
use super::entry::Entry;
use super::error::{Error, Result};
use super::name::check_tape_name;
use super::store::{Future, Store};
use end::Ends;
use lock::Lock;
use scan::{Backward, Forward};

/// A directory of tapes.
pub struct FileStore {
    dir: PathBuf,
    ends: Ends,
}

impl FileStore {
    /// The tapes in `dir`, which is made, for its owner alone, when it is not there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when it cannot be made or is no directory.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self> {
        let dir = dir.into();
        let made = match fs::metadata(&dir) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&dir)
            }
            Err(error) => Err(error),
        };
        made.map_err(|source| Error::Io {
            action: format!("open the directory of tapes `{}`", dir.display()),
            source,
        })?;
        Ok(Self { dir, ends: Ends::default() })
    }

    /// Where the tapes lie.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A file of a tape: `suffix` is empty for the tape itself.
    fn path(&self, tape: &str, suffix: &str) -> PathBuf {
        self.dir.join(format!("{tape}.jsonl{suffix}"))
    }

    /// The tape's file for reading; `None` when it is not there.
    fn file(&self, tape: &str) -> Result<Option<File>> {
        check_tape_name(tape)?;
        match File::open(self.path(tape, "")) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", tape)(error)),
        }
    }

    async fn lock(&self, action: &str, tape: &str) -> Result<Lock> {
        check_tape_name(tape)?;
        let lock = Lock::wait(self.ends.queue(tape), &self.path(tape, ".lock")).await;
        lock.map_err(failed(action, tape))
    }

    /// Shows `visit` the entries before `before`, newest first, until it has seen enough.
    fn walk_back(
        &self,
        tape: &str,
        before: Option<u64>,
        mut visit: impl FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(file) = self.file(tape)? else {
            return Ok(());
        };
        let mut walk = || -> io::Result<()> {
            let end = match before {
                Some(before) => scan::behind(&file, before.saturating_sub(1))?,
                None => file.metadata()?.len(),
            };
            let mut lines = Backward::new(&file, end)?;
            while let Some(line) = lines.next()? {
                if let Some(entry) = line.entry()
                    && before.is_none_or(|before| entry.id < before)
                    && visit(entry).is_break()
                {
                    break;
                }
            }
            Ok(())
        };
        walk().map_err(failed("read", tape))
    }

    /// The newest entry before `before` that `wanted` accepts.
    fn newest(&self, tape: &str, before: Option<u64>, wanted: impl Fn(&Entry) -> bool) -> Result<Option<Entry>> {
        let mut found = None;
        self.walk_back(tape, before, |entry| {
            if !wanted(&entry) {
                return ControlFlow::Continue(());
            }
            found = Some(entry);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    fn read_page(&self, tape: &str, after: u64, max: usize) -> Result<Vec<Entry>> {
        let Some(file) = self.file(tape)? else {
            return Ok(Vec::new());
        };
        let read = || -> io::Result<Vec<Entry>> {
            let start = if after == 0 { 0 } else { scan::behind(&file, after)? };
            let mut lines = Forward::new(&file, start)?;
            let mut found = Vec::new();
            while found.len() < max
                && let Some(line) = lines.next()?
            {
                found.extend(line.entry().filter(|entry| entry.id > after));
            }
            Ok(found)
        };
        read().map_err(failed("read", tape))
    }

    /// Under the lock.
    fn take_away(&self, tape: &str, archive: bool) -> io::Result<Option<String>> {
        let path = self.path(tape, "");
        self.ends.forget(tape);
        if !path.try_exists()? {
            return Ok(None);
        }
        if !archive {
            fs::remove_file(&path)?;
            return Ok(None);
        }
        let stamp = date::stamp();
        let mut count = 0_u32;
        loop {
            let number = if count == 0 { String::new() } else { format!("-{count}") };
            let name = format!("{tape}.jsonl.{stamp}{number}.bak");
            let target = self.dir.join(&name);
            // An empty file takes the name first, so that the rename replaces nobody's archive.
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&target) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    count += 1;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if let Err(error) = fs::rename(&path, &target) {
                let _removed = fs::remove_file(&target);
                return Err(error);
            }
            return Ok(Some(name));
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for found in fs::read_dir(&self.dir)? {
            let file = found?.file_name();
            let stem = file.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            // A sidecar's name has `__` more than once.
            names.extend(
                stem.filter(|stem| stem.matches("__").count() == 1 && check_tape_name(stem).is_ok()).map(str::to_owned),
            );
        }
        names.sort_unstable();
        Ok(names)
    }
}

fn failed(action: &str, tape: &str) -> impl FnOnce(io::Error) -> Error {
    let action = format!("{action} tape `{tape}`");
    move |source| Error::Io { action, source }
}

impl Store for FileStore {
    fn append<'a>(&'a self, tape: &'a str, drafts: Vec<Draft>, expect_last: Option<u64>) -> Future<'a, u64> {
        Box::pin(async move {
            let _lock = self.lock("append to", tape).await?;
            self.write(tape, drafts, expect_last)
        })
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        Box::pin(async move {
            let Some(file) = self.file(tape)? else {
                return Ok(0);
            };
            let end = self.end_of(tape, &file).map_err(failed("read", tape))?;
            Ok(end.last_id)
        })
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move { self.read_page(tape, after, max) })
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            let mut found = Vec::new();
            if max > 0 {
                self.walk_back(tape, before, |entry| {
                    found.push(entry);
                    if found.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
            }
            found.reverse();
            Ok(found)
        })
    }

    fn last_anchor<'a>(
        &'a self,
        tape: &'a str,
        name: Option<&'a str>,
        before: Option<u64>,
        zones: bool,
    ) -> Future<'a, Option<Entry>> {
        Box::pin(async move { self.newest(tape, before, |entry| entry.answers(name, zones)) })
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            let mut found = Vec::new();
            self.walk_back(tape, None, |entry| {
                let done = entry.begins_phase();
                found.push(entry);
                if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            found.reverse();
            Ok(found)
        })
    }

    fn last_of_kind<'a>(&'a self, tape: &'a str, kind: &'a str) -> Future<'a, Option<Entry>> {
        Box::pin(async move { self.newest(tape, None, |entry| entry.kind == kind) })
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let names = self.names().map_err(|source| Error::Io {
                action: format!("list the tapes in `{}`", self.dir.display()),
                source,
            })?;
            let behind = names.into_iter().filter(|name| after.is_none_or(|after| name.as_str() > after));
            Ok(behind.take(max).collect())
        })
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            let _lock = self.lock("reset", tape).await?;
            self.take_away(tape, archive).map_err(failed("reset", tape))
        })
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            check_tape_name(tape)?;
            // The lock file is what an append makes first, so making it shows whether the directory takes files.
            lock::open(&self.path(tape, ".lock")).map_err(failed("append to", tape))?;
            match OpenOptions::new().append(true).open(self.path(tape, "")) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("append to", tape)(error)),
                _ => Ok(()),
            }
        })
    }
}
