//! The lock that lets one process serve a home.

use anyhow::{Context, Result, bail};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Held while this process serves the home: two processes would take messages from each other.
pub(crate) struct ServeLock {
    _file: File,
}

/// Whether a process serves this home.
pub fn is_served(home: &Path) -> bool {
    let Ok(file) = File::open(home.join("serve.lock")) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

impl ServeLock {
    /// # Errors
    ///
    /// Another process serves this home.
    pub(crate) fn acquire(home: &Path) -> Result<Self> {
        let path = home.join("serve.lock");
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = open().with_context(|| format!("`{}` cannot be opened", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = Read::by_ref(&mut file).take(20).read_to_string(&mut pid);
                let holder =
                    pid.trim().parse::<u32>().map_or_else(|_| String::new(), |pid| format!(" (process {pid})"));
                bail!(
                    "another `bub-wasm serve`{holder} serves `{}`: end it first, or use another home",
                    home.display()
                );
            }
            Err(TryLockError::Error(error)) => bail!("`{}` cannot be locked: {error}", path.display()),
        }
        // The id of the process serves error messages only.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
