//! Access to `secrets.toml`: permission checks and atomic replacement.

use crate::secret::Error;
use bub_system::files::read_regular;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum size of the file, in bytes.
const MAX_FILE: usize = 1 << 20;

/// Timeout for the lock. A change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Read and write for the owner only.
const MODE: u32 = 0o600;

/// Reads the file; empty if there is none.
///
/// # Errors
///
/// [`Error::File`] if it cannot be read, belongs to another user, or group or others have any access.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let shown = path.display();
    let (bytes, file) = match read_regular(path, MAX_FILE + 1) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(Error::File(format!("`{shown}` cannot be read: {error}"))),
    };
    // Checks the opened file, not the path, which may lead to another file by now.
    let meta = file.metadata().map_err(|error| Error::File(format!("`{shown}` cannot be read: {error}")))?;
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::File(format!(
            "`{shown}` holds secrets and belongs to another user (uid {}): `chown {} {shown}`, then `chmod 600 {shown}`",
            meta.uid(),
            rustix::process::geteuid().as_raw()
        )));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(Error::File(format!("`{shown}` holds secrets and is open to other users: `chmod 600 {shown}`")));
    }
    if bytes.len() > MAX_FILE {
        return Err(Error::File(format!("`{shown}` is longer than {MAX_FILE} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Error::File(format!("`{shown}` is not UTF-8")))
}

/// Replaces the text by the result of `change`, atomically and under a lock.
///
/// # Errors
///
/// Those of [`read`] and of `change`, and [`Error::File`] when it cannot be written. The file is then as it was.
pub(super) fn change(path: &Path, change: impl FnOnce(&str) -> Result<String, Error>) -> Result<(), Error> {
    let wrong = |error: io::Error| Error::File(format!("`{}` cannot be written: {error}", path.display()));
    // A symbolic link is kept; its target is replaced.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(wrong(error)),
    };
    let dir = target.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(wrong)?;
    // Held until the end. The lock is a separate file that is never renamed; otherwise two processes could lock two
    // files.
    let _lock = lock(&with_suffix(&target, ".lock")).map_err(wrong)?;
    let text = change(&read(&target)?)?;
    if text.len() > MAX_FILE {
        return Err(Error::File(format!("`{}` would be longer than {MAX_FILE} bytes", path.display())));
    }
    let draft = with_suffix(&target, ".new");
    let replaced = write(&draft, &text).and_then(|()| fs::rename(&draft, &target));
    if let Err(error) = replaced {
        let _ = fs::remove_file(&draft);
        return Err(wrong(error));
    }
    // The rename is durable once the directory is synced. Not every file system supports that.
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
    Ok(())
}

fn write(draft: &Path, text: &str) -> io::Result<()> {
    // We hold the lock, so this is left over from a process that was killed.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(MODE).open(path)?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process has been writing for 5 seconds"));
            }
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(20)),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
