//! Bounded reading of the files that configure the program.

use super::access::{Access, check_file};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

/// Reads the first `most` bytes of a regular file, and returns the opened file too. A pipe, a device or a directory is
/// refused without blocking.
///
/// # Errors
///
/// The file cannot be opened or read, or is not a regular file (`InvalidInput`).
pub fn read_regular(path: &Path, most: usize) -> io::Result<(Vec<u8>, File)> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    (&file).take(most as u64).read_to_end(&mut bytes)?;
    Ok((bytes, file))
}

/// Reads a file of at most `most` bytes that only its owner (or root) can write, and returns who can read it; `None` if
/// it does not exist.
///
/// # Errors
///
/// One line that names the file and the remedy: it cannot be read, is not a regular file, is too long or not UTF-8,
/// belongs to another user, or group or others can write it.
pub fn read_text(path: &Path, most: usize) -> Result<Option<(String, Access)>, String> {
    let shown = path.display();
    let (bytes, file) = match read_regular(path, most.saturating_add(1)) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("`{shown}` cannot be read: {error}")),
    };
    // Checks the opened file, not the path, which may lead to another file by now.
    let meta = file.metadata().map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    let access = check_file(path, &meta)?;
    if bytes.len() > most {
        return Err(format!("`{shown}` is longer than {most} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("`{shown}` is not UTF-8"))?;
    Ok(Some((text, access)))
}

/// The text of a file below a directory, whose path is absolute and without links; none: it does not exist, is longer than
/// `most` bytes or no text, or it, or what a link in its place leads to, is outside.
pub fn read_inside(dir: &Path, file: &Path, most: u64) -> Option<String> {
    let inside = file.strip_prefix(dir).unwrap_or(file);
    if !inside.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let found = dir.join(inside).canonicalize().ok().filter(|found| found.starts_with(dir))?;
    let most = usize::try_from(most).ok()?;
    let (bytes, _) = read_regular(&found, most.saturating_add(1)).ok()?;
    (bytes.len() <= most).then(|| String::from_utf8(bytes).ok())?
}
