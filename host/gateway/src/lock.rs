//! One gateway for a home.

use anyhow::{Context, Result, bail};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Held while this process serves: two would take each other's messages away.
pub(super) struct ServeLock {
    _file: File,
}

impl ServeLock {
    /// # Errors
    ///
    /// Another process serves this home.
    pub fn take(home: &Path) -> Result<Self> {
        let path = home.join("serve.lock");
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = open().with_context(|| format!("`{}` cannot be opened", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = Read::by_ref(&mut file).take(20).read_to_string(&mut pid);
                let who = pid.trim().parse::<u32>().map_or_else(|_| String::new(), |pid| format!(" (process {pid})"));
                bail!("another `bub-wasm serve`{who} serves `{}`: end it first, or use another home", home.display());
            }
            Err(TryLockError::Error(error)) => bail!("`{}` cannot be locked: {error}", path.display()),
        }
        // Only for whoever asks who it is.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}
