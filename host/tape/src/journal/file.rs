//! Journals in files of one machine.
//!
//! A journal and its lease are one file, `T.jsonl.turn`, which is never renamed. Its lock is the lease, held for the
//! whole turn; its content is the journal, empty when no turn runs. Only the holder of the lock reads the journal; a
//! process that gets the lock and finds a journal recovers an interrupted turn.

use parking_lot::Mutex;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::error::{Error, Result};
use super::super::holder::Holder;
use super::super::lock::{self, Lock, Queues};
use super::super::store::Future;
use super::super::{Durability, check_tape_name, failpoint};
use super::JournalSettings;
use super::backend::{HeldJournal, JournalBackend};
use super::record;

/// Bytes reserved for a turn before its model is called, if the disk is almost full.
const RESERVED: u64 = 64 * 1024;

/// Free space above which nothing is reserved, in bytes: more than all concurrent turns write.
const LOW_DISK: u64 = 256 * 1024 * 1024;

/// Maximum size of a journal, in bytes: more than a turn can write.
const MAX_JOURNAL: u64 = 1024 * 1024 * 1024;

/// In place of a length: a partial record could not be truncated.
const BROKEN: u64 = u64::MAX;

/// The journals of a directory.
pub(super) struct FileJournals {
    dir: PathBuf,
    settings: JournalSettings,
    queues: Queues,
}

impl FileJournals {
    pub(super) fn new(dir: PathBuf, settings: JournalSettings) -> Self {
        Self { dir, settings, queues: Queues::default() }
    }

    fn path(&self, tape: &str) -> PathBuf {
        self.dir.join(format!("{tape}.jsonl.turn"))
    }

    async fn lease(&self, tape: &str) -> Result<Lock> {
        check_tape_name(tape)?;
        let path = self.path(tape);
        let failed = |source| Error::Io { action: format!("begin a turn on tape `{tape}`"), source };
        // With a store other than files the directory may not exist yet.
        if !self.dir.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(failed)?;
        }
        let wait = self.settings.lock_wait;
        let slow = |file: &File| super::report_wait(holder(file).as_ref(), wait);
        match Lock::wait(self.queues.get(tape), &path, wait, slow).await {
            Ok(lock) => Ok(lock),
            Err(lock::LockError::Busy) => {
                let holder = lock::open(&path).ok().and_then(|file| holder(&file));
                Err(Error::Busy { waited: wait, holder })
            }
            Err(lock::LockError::Io(source)) => Err(failed(source)),
        }
    }

    fn records(&self, tape: &str) -> Result<Vec<u8>> {
        check_tape_name(tape)?;
        let failed = |source| Error::Io { action: format!("read the journal of tape `{tape}`"), source };
        let file = match File::open(self.path(tape)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => read(&file).map_err(failed),
            Err(_) => Ok(Vec::new()),
        }
    }
}

impl JournalBackend for FileJournals {
    fn acquire<'a>(&'a self, tape: &'a str) -> Future<'a, Arc<dyn HeldJournal>> {
        Box::pin(async move {
            let lock = self.lease(tape).await?;
            let journal: Arc<dyn HeldJournal> = Arc::new(FileJournal {
                dir: self.dir.clone(),
                tape: tape.to_owned(),
                durability: self.settings.durability,
                state: Arc::new(Mutex::new(State { lock: Some(lock), written: 0, synced: 0 })),
                syncing: tokio::sync::Mutex::new(()),
            });
            Ok(journal)
        })
    }

    fn holder<'a>(&'a self, tape: &'a str) -> Future<'a, Option<Holder>> {
        Box::pin(async move {
            let Ok(file) = File::open(self.path(tape)) else { return Ok(None) };
            Ok(match file.try_lock_shared() {
                Ok(()) => None,
                Err(_) => holder(&file),
            })
        })
    }

    /// A process that is gone holds no lock, so there is nothing to wait for.
    fn left<'a>(&'a self, tape: &'a str, _waits: bool) -> Future<'a, Vec<u8>> {
        Box::pin(async move { self.records(tape) })
    }

    fn dir(&self) -> Option<&Path> {
        Some(&self.dir)
    }
}

/// A locked file.
struct FileJournal {
    dir: PathBuf,
    tape: String,
    durability: Durability,
    state: Arc<Mutex<State>>,
    /// The holder syncs for all waiters.
    syncing: tokio::sync::Mutex<()>,
}

struct State {
    /// `None`: the turn has ended.
    lock: Option<Lock>,
    written: u64,
    synced: u64,
}

impl FileJournal {
    fn write(&self, bytes: &[u8]) -> Result<()> {
        self.with(|lock, state| {
            if *state == BROKEN {
                return Err(io::Error::other("an earlier write to it was cut off"));
            }
            let wrote = failpoint::write("record", lock.file(), bytes, *state);
            // A partial record would hide those after it. Truncating needs no space; if it fails too, no more records
            // are accepted.
            if wrote.is_err()
                && let Err(error) = lock.file().set_len(*state)
            {
                *state = BROKEN;
                return Err(error);
            }
            wrote?;
            *state += bytes.len() as u64;
            Ok(())
        })
    }

    fn with<T>(&self, act: impl FnOnce(&Lock, &mut u64) -> io::Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        let State { lock, written, synced } = &mut *state;
        let Some(lock) = lock else {
            return Err(Error::invalid("the turn is over"));
        };
        let result = act(lock, written).map_err(self.failed());
        *synced = (*synced).min(*written);
        result
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> Error {
        let action = format!("write the journal of tape `{}`", self.tape);
        move |source| Error::Io { action, source }
    }

    /// Acts on what an interrupted turn left.
    fn with_left<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> Result<T> {
        let state = self.state.lock();
        let Some(lock) = &state.lock else {
            return Err(Error::invalid("the turn is over"));
        };
        let action = || format!("recover the interrupted turn of tape `{}`", self.tape);
        act(lock.file()).map_err(|source| Error::Io { action: action(), source })
    }
}

impl HeldJournal for FileJournal {
    fn left(&self) -> Result<Vec<u8>> {
        self.with_left(read)
    }

    fn empty_left(&self) -> Future<'_, ()> {
        Box::pin(async { self.with_left(|file| empty(file, self.durability)) })
    }

    fn begin(&self, record: &[u8]) -> Result<()> {
        self.write(record)?;
        if self.durability == Durability::Fsync {
            self.with(|lock, _| {
                lock.file().sync_all()?;
                // The file may be new, so its directory entry must be durable too.
                File::open(&self.dir)?.sync_all()
            })?;
        }
        Ok(())
    }

    fn reserve(&self) -> Result<()> {
        self.with(|lock, _| failpoint::run("begin.room", || reserve(lock.file())))
    }

    fn append(&self, record: &[u8]) -> Result<()> {
        self.write(record)
    }

    /// Concurrent waiters share one flush.
    fn settle(&self) -> Future<'_, ()> {
        Box::pin(async {
            if self.durability == Durability::Os {
                return Ok(());
            }
            let mine = self.state.lock().written;
            let _first = self.syncing.lock().await;
            if self.state.lock().synced >= mine {
                return Ok(());
            }
            let state = Arc::clone(&self.state);
            let synced = tokio::task::spawn_blocking(move || {
                let (file, written) = {
                    let state = state.lock();
                    let file = state.lock.as_ref().map(|lock| lock.file().try_clone()).transpose()?;
                    (file, state.written)
                };
                if let Some(file) = file {
                    file.sync_data()?;
                }
                state.lock().synced = written;
                Ok(())
            });
            synced.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(self.failed())
        })
    }

    fn finish(&self) -> Result<()> {
        self.with(|lock, written| {
            empty(lock.file(), self.durability)?;
            *written = 0;
            Ok(())
        })
    }

    fn release(&self) {
        self.state.lock().lock = None;
    }
}

/// The content of a journal.
fn read(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > MAX_JOURNAL {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("the journal has {length} bytes")));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// The process that began the turn, for messages to waiters.
fn holder(file: &File) -> Option<Holder> {
    let mut bytes = [0; 512];
    let length = file.read_at(&mut bytes, 0).ok()?;
    record::holder(bytes.get(..length)?).map(|pid| Holder { pid, host: None })
}

/// Empties a journal whose entries are in the store.
fn empty(file: &File, durability: Durability) -> io::Result<()> {
    file.set_len(0)?;
    if durability == Durability::Fsync { file.sync_all() } else { Ok(()) }
}

/// Reserves space if the disk is almost full and the file system supports it. Otherwise the journal may be emptied
/// before it is ever flushed, and allocating blocks would cost more than the turn's writes.
fn reserve(file: &File) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
    if fstatvfs(file).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= LOW_DISK) {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, RESERVED) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
