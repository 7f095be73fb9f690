//! Creation of private directories.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Creates `path` and its missing parents, each with mode 700 whatever the umask says. A directory that exists keeps its
/// mode.
///
/// # Errors
///
/// One of them cannot be created, or is not a directory.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
