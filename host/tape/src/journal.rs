//! A turn's journal, which preserves its writes over a crash, and the lease that excludes other turns of the same
//! session.
//!
//! Both are one file, `T.jsonl.turn`, which is never renamed. Its lock is the lease, held for the whole turn; its
//! content is the journal, empty when no turn runs. Only the holder of the lock reads the journal; a process that gets
//! the lock and finds a journal recovers an interrupted turn. The journal is independent of the kind of store: it
//! repeats a [`Commit`] with its key, and the store detects repetitions.

mod record;
mod recover;

use parking_lot::Mutex;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::{Error, Result};
use super::lock::{self, Lock, Queues};
use super::store::{Commit, Store};
use super::{Durability, check_tape_name, date, failpoint};
use record::Record;

/// Bytes reserved for a turn before its model is called, if the disk is almost full.
const RESERVED: u64 = 64 * 1024;

/// Free space above which nothing is reserved, in bytes: more than all concurrent turns write.
const LOW_DISK: u64 = 256 * 1024 * 1024;

/// In place of a length: a partial record could not be truncated.
const BROKEN: u64 = u64::MAX;

/// Settings of journals.
#[derive(Clone, Copy, Debug)]
pub struct JournalSettings {
    /// How long a turn waits for another turn of its session.
    pub lock_wait: Duration,
    /// Durability of writes.
    pub durability: Durability,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { lock_wait: Duration::from_secs(30), durability: Durability::default() }
    }
}

/// The journals of a directory of tapes.
pub struct Journals {
    dir: PathBuf,
    settings: JournalSettings,
    queues: Queues,
}

/// The result of a recovery at the beginning of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Entries that the interrupted turn had written.
    pub entries: usize,
    /// Tools that may or may not have run.
    pub tools: Vec<String>,
}

impl Journals {
    /// Journals in `dir`, the directory of tapes in files.
    pub fn new(dir: impl Into<PathBuf>, settings: JournalSettings) -> Self {
        Self { dir: dir.into(), settings, queues: Queues::default() }
    }

    fn path(&self, tape: &str) -> PathBuf {
        self.dir.join(format!("{tape}.jsonl.turn"))
    }

    /// The directory of the journals.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Waits for the session's lease, recovers an interrupted turn, and begins a turn.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another turn runs for longer than `lock_wait`; [`Error::Io`] if the journal cannot be
    /// written, or recovery fails: the turn must not begin then.
    pub(super) async fn begin(&self, store: &dyn Store, tape: &str) -> Result<(Arc<Journal>, Option<Recovered>)> {
        let lock = self.lease(tape).await?;
        let recovered = recover::recover(store, lock.file(), tape, self.settings.durability, false).await?;
        let journal = Journal {
            dir: self.dir.clone(),
            tape: tape.to_owned(),
            key: key(),
            durability: self.settings.durability,
            state: Mutex::new(State { lock: Some(lock), written: 0, synced: 0 }),
            syncing: tokio::sync::Mutex::new(()),
        };
        journal.start()?;
        failpoint::point("begin.end");
        Ok((Arc::new(journal), recovered))
    }

    /// Runs an operation on `store` under the session's lease, after recovering an interrupted turn.
    pub(super) async fn exclusively(&self, store: &dyn Store, tape: &str) -> Result<Lock> {
        let lock = self.lease(tape).await?;
        recover::recover(store, lock.file(), tape, self.settings.durability, false).await?;
        Ok(lock)
    }

    /// Recovers an interrupted turn, out of context.
    pub(super) async fn set_aside(&self, store: &dyn Store, tape: &str) -> Result<Option<Recovered>> {
        let lock = self.lease(tape).await?;
        recover::recover(store, lock.file(), tape, self.settings.durability, true).await
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
        let slow = |file: &File| {
            let who = record::holder(file).map_or_else(String::new, |pid| format!(" in process {pid}"));
            let wait = wait.as_secs_f64();
            tracing::warn!("another turn of this session runs{who}: waiting up to {wait} seconds");
        };
        match Lock::wait(self.queues.get(tape), &path, wait, slow).await {
            Ok(lock) => Ok(lock),
            Err(lock::LockError::Busy) => {
                let pid = lock::open(&path).ok().and_then(|file| record::holder(&file));
                Err(Error::Busy { waited: wait, pid })
            }
            Err(lock::LockError::Io(source)) => Err(failed(source)),
        }
    }

    /// The process that holds the tape's lease, if known.
    pub fn holder(&self, tape: &str) -> Option<u32> {
        let file = File::open(self.path(tape)).ok()?;
        match file.try_lock_shared() {
            Ok(()) => None,
            Err(_) => record::holder(&file),
        }
    }

    /// An interrupted turn that is not recovered yet, if no turn runs.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the journal cannot be read.
    pub fn left(&self, tape: &str) -> Result<Option<Recovered>> {
        check_tape_name(tape)?;
        let failed = |source| Error::Io { action: format!("read the journal of tape `{tape}`"), source };
        let file = match File::open(self.path(tape)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(recover::read(&file, tape).map_err(failed)?.map(|left| left.summary())),
            Err(_) => Ok(None),
        }
    }
}

/// The journal of one turn.
pub(super) struct Journal {
    dir: PathBuf,
    tape: String,
    key: String,
    durability: Durability,
    state: Mutex<State>,
    /// The holder syncs for all waiters.
    syncing: tokio::sync::Mutex<()>,
}

struct State {
    /// `None`: the turn has ended.
    lock: Option<Lock>,
    written: u64,
    synced: u64,
}

impl Journal {
    /// The key of the turn's commit.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    fn start(&self) -> Result<()> {
        let begin = Record::Begin { key: self.key.clone(), pid: std::process::id(), date: date::now() };
        self.write(&begin.encode())?;
        if self.durability == Durability::Fsync {
            self.with(|lock, _| {
                lock.file().sync_all()?;
                // The file may be new, so its directory entry must be durable too.
                File::open(&self.dir)?.sync_all()
            })?;
        }
        failpoint::point("begin.header");
        let room = self.with(|lock, _| failpoint::run("begin.room", || reserve(lock.file())));
        room.inspect_err(|_| {
            let _emptied = self.finish();
        })
    }

    /// Records a write before it is acknowledged.
    pub(super) fn record(&self, commit: &Commit) -> Result<()> {
        self.write(&record::encode_commit(&commit.batches))?;
        failpoint::point("record.written");
        Ok(())
    }

    /// Records the user's message, which recovery writes to the tape if the turn did not.
    pub(super) fn prompt(&self, text: &str) -> Result<()> {
        self.write(&Record::Prompt(text.to_owned()).encode())
    }

    /// Records that a tool with an irrevocable effect began. `call` is the model's call, as JSON.
    pub(super) fn tool(&self, call: &str) -> Result<()> {
        self.write(&Record::Tool(call.to_owned()).encode())?;
        failpoint::point("tool.written");
        Ok(())
    }

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

    /// Waits until the records are durable. Concurrent waiters share one flush.
    pub(super) async fn settle(self: &Arc<Self>) -> Result<()> {
        if self.durability == Durability::Os {
            return Ok(());
        }
        let mine = self.state().written;
        let _first = self.syncing.lock().await;
        if self.state().synced >= mine {
            return Ok(());
        }
        let journal = Arc::clone(self);
        let synced = tokio::task::spawn_blocking(move || {
            let (file, written) = {
                let state = journal.state();
                let file = state.lock.as_ref().map(|lock| lock.file().try_clone()).transpose()?;
                (file, state.written)
            };
            if let Some(file) = file {
                file.sync_data()?;
            }
            journal.state().synced = written;
            Ok(())
        });
        synced.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(self.failed())
    }

    /// Empties the journal after the commit.
    pub(super) fn finish(&self) -> Result<()> {
        failpoint::point("end.stored");
        self.with(|lock, written| {
            empty(lock.file(), self.durability)?;
            *written = 0;
            Ok(())
        })?;
        failpoint::point("end.emptied");
        Ok(())
    }

    /// Releases the lease.
    pub(super) fn release(&self) {
        self.state().lock = None;
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    fn with<T>(&self, act: impl FnOnce(&Lock, &mut u64) -> io::Result<T>) -> Result<T> {
        let mut state = self.state();
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

/// A unique key, even if clock and process id repeat.
fn key() -> String {
    use std::hash::{BuildHasher, Hasher};
    let chance = std::hash::RandomState::new().build_hasher().finish();
    format!("{}-{chance:016x}", date::run_id())
}
