//! Checks which other users may write or read the program's files.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The users besides the owner that can read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only its owner, and root.
    Private,
    /// Its group or all users.
    ReadableByOthers,
}

/// Checks the owner and the mode of a file.
///
/// # Errors
///
/// The file belongs to a user other than the current one and root, or its group or others can write it. The message is
/// one line with the command that repairs it.
pub(super) fn check_file(path: &Path, meta: &Metadata) -> Result<Access, String> {
    let (user, shown, mode) = (rustix::process::geteuid().as_raw(), path.display(), meta.mode() & 0o777);
    // Root can control this user's processes anyway, and containers and package managers install files as root.
    if meta.uid() != user && meta.uid() != 0 {
        return Err(format!(
            "`{shown}` belongs to another user (uid {}), who could change what bub-wasm does: `chown {user} {shown}`",
            meta.uid()
        ));
    }
    if mode & 0o022 != 0 {
        return Err(format!("`{shown}` can be written by other users (mode {mode:o}): `chmod go-w {shown}`"));
    }
    Ok(if mode & 0o044 == 0 { Access::Private } else { Access::ReadableByOthers })
}

/// Checks the owner and the mode of a directory, which may be missing.
///
/// # Errors
///
/// The directory belongs to another user, or other users can write to it.
pub fn check_directory(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(meta) => check_file(path, &meta).map(|_| ()),
        // A missing directory is created later; an unreadable one fails where it is used.
        Err(_) => Ok(()),
    }
}
