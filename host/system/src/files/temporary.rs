//! Directories of a process in the system's temporary folder, which a later process removes if this one was killed.

use rustix::fs::{Mode, OFlags, openat};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// The file in such a directory that its process holds locked. The lock ends with the process, however that ends.
const LOCK: &str = "lock";

/// The same until it is locked: no other process may take a directory for abandoned before.
const NEW_LOCK: &str = "lock.new";

/// Entries of the temporary folder that are looked at.
const MAX_ENTRIES: usize = 65_536;

/// A directory of mode 0700, which is removed when it is dropped.
#[derive(Debug)]
pub struct TemporaryDirectory {
    directory: TempDir,
    _lock: File,
}

impl TemporaryDirectory {
    /// A new directory in that one, whose name begins so.
    ///
    /// # Errors
    ///
    /// It cannot be made or locked.
    pub fn new(prefix: &str, parent: &Path) -> io::Result<Self> {
        let directory =
            tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(parent)?;
        let new = directory.path().join(NEW_LOCK);
        let lock = File::create_new(&new)?;
        lock.try_lock().map_err(io::Error::other)?;
        fs::rename(new, directory.path().join(LOCK))?;
        Ok(Self { directory, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a directory in it of mode 0700, if it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn make(&self, name: &str) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.path().join(name))
    }
}

/// Removes the directories in `parent` whose names begin with one of these, that belong to this user, and whose processes
/// have ended. What cannot be removed stays.
pub fn remove_abandoned(parent: &Path, prefixes: &[&str]) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten().take(MAX_ENTRIES);
    for entry in entries {
        let name = entry.file_name();
        let is_meant = name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        if is_meant && is_abandoned(&entry.path()) {
            // No link in it is followed.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    // Somebody else may have put a link or a pipe there.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let user = rustix::process::geteuid().as_raw();
    let open = |at: std::os::fd::BorrowedFd<'_>, path: &Path, more| {
        let file = File::from(openat(at, path, flags | more, Mode::empty()).ok()?);
        file.metadata().is_ok_and(|known| known.uid() == user).then_some(file)
    };
    let Some(directory) = open(rustix::fs::CWD, path, OFlags::DIRECTORY) else { return false };
    let lock = open(std::os::fd::AsFd::as_fd(&directory), Path::new(LOCK), OFlags::empty());
    lock.is_some_and(|lock| lock.metadata().is_ok_and(|known| known.is_file()) && lock.try_lock().is_ok())
}
