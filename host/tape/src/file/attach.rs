//! Attachments of archives.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::super::name::check_tape_name;
use super::failed;
use crate::Result;

/// Stores a text with the archive of that name, as `ARCHIVE.NAME`, mode 600. An existing file is not overwritten.
///
/// # Errors
///
/// The name is invalid, the file exists, or it cannot be written.
pub fn attach(dir: &Path, archive: &str, name: &str, text: &str) -> Result<PathBuf> {
    let file = format!("{archive}.{name}");
    check_tape_name(&file)?;
    let path = dir.join(file);
    let write = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(text.as_bytes())
    };
    write().map_err(failed("write what is kept beside", archive))?;
    Ok(path)
}
