//! The lock that appends hold, within this process and between processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, sleep, timeout_at};

/// How long an append waits for another. An append takes microseconds: whoever holds the lock for longer hangs.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Held while a tape is written. Dropping it gives it up.
pub(super) struct Lock {
    // In this order: the file is unlocked before the next in the queue tries it.
    _file: File,
    _turn: OwnedMutexGuard<()>,
}

impl Lock {
    /// Waits for `queue`, then locks the file at `path`, which is made when it is not there and is never renamed or
    /// removed: two processes would hold locks on two files.
    pub(super) async fn wait(queue: Arc<Mutex<()>>, path: &Path) -> io::Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        let busy = || io::Error::new(io::ErrorKind::TimedOut, "another process has been writing for 5 seconds");
        let turn = timeout_at(deadline, queue.lock_owned()).await.map_err(|_| busy())?;
        let file = open(path)?;
        let mut pause = Duration::from_millis(1);
        loop {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Self { _file: file, _turn: turn });
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(busy()),
                Err(TryLockError::WouldBlock) => sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// The file that is locked.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
