//! File locks, within this process and between processes.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep, timeout_at};

const MAX_PAUSE: Duration = Duration::from_millis(20);

/// How long to wait before a message is logged.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// An exclusive file lock, released on drop.
pub(super) struct Lock {
    // In this order: the file is unlocked before the next waiter in the queue tries it.
    file: File,
    _turn: OwnedMutexGuard<()>,
}

/// Why a lock was not acquired.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process held the lock until the timeout.
    Busy,
    Io(io::Error),
}

impl Lock {
    /// Waits for `queue`, then locks the file at `path`, which is created if it is missing. `slow` is called once if
    /// the wait is long.
    pub(super) async fn wait(
        queue: Arc<tokio::sync::Mutex<()>>,
        path: &Path,
        patience: Duration,
        slow: impl FnOnce(&File),
    ) -> Result<Self, LockError> {
        let begun = Instant::now();
        let deadline = begun + patience;
        let mut file = open(path).map_err(LockError::Io)?;
        let mut slow = Some(slow);
        let mut said = |file: &File| {
            if let Some(slow) = slow.take() {
                slow(file);
            }
        };
        let turn = match timeout_at(deadline.min(begun + REPORT_AFTER), Arc::clone(&queue).lock_owned()).await {
            Ok(turn) => turn,
            Err(_) if patience <= REPORT_AFTER => return Err(LockError::Busy),
            Err(_) => {
                said(&file);
                timeout_at(deadline, queue.lock_owned()).await.map_err(|_| LockError::Busy)?
            }
        };
        let mut pause = Duration::from_millis(1);
        loop {
            match file.try_lock() {
                // Garbage collection may have removed the file in the meantime.
                Ok(()) if same(&file, path) => return Ok(Self { file, _turn: turn }),
                Ok(()) => file = open(path).map_err(LockError::Io)?,
                Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(LockError::Busy),
                Err(TryLockError::WouldBlock) => {
                    if begun.elapsed() >= REPORT_AFTER {
                        said(&file);
                    }
                    sleep(pause).await;
                }
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

/// Opens the file to lock.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn same(file: &File, path: &Path) -> bool {
    let inode = |found: io::Result<std::fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
    inode(file.metadata()) == inode(std::fs::metadata(path))
}

/// Waiters of this process queue here, in order; processes compete for the file.
#[derive(Default)]
pub struct Queues(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl Queues {
    /// The queue of that name: its lock is held by the one whose turn it is.
    pub fn get(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.0.lock();
        if let Some(queue) = queues.get(name).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(name.to_owned(), Arc::downgrade(&queue));
        queue
    }
}
