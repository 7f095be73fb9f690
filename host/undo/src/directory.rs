//! Access to files of a workspace that follows no link, at any part of a path.

use super::path::WorkspacePath;
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, mkdirat, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The directory that holds a file, and the file's name in it.
pub(crate) struct Parent {
    directory: OwnedFd,
    name: Vec<u8>,
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// Opens the directory of a file. `makes`: directories that are missing are made.
pub(crate) fn parent(workspace: &Path, path: &WorkspacePath, makes: bool) -> io::Result<Parent> {
    let mut directory = rustix::fs::open(workspace, DIRECTORY, Mode::empty())?;
    let mut parts = path.bytes().split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let name = OsStr::from_bytes(part);
        if parts.peek().is_none() {
            return Ok(Parent { directory, name: part.to_owned() });
        }
        directory = match openat(&directory, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if makes => {
                mkdirat(&directory, name, Mode::from_raw_mode(0o755))?;
                openat(&directory, name, DIRECTORY, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Opens a regular file for reading.
pub(crate) fn open_file(workspace: &Path, path: &WorkspacePath) -> io::Result<File> {
    let parent = parent(workspace, path, false)?;
    // A pipe in the place of the file must not make the open wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(openat(&parent.directory, parent.name(), flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl Parent {
    fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.name)
    }

    /// Removes a file or a link.
    pub(crate) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.directory, self.name(), AtFlags::empty())?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_directory(&self) -> io::Result<()> {
        Ok(unlinkat(&self.directory, self.name(), AtFlags::REMOVEDIR)?)
    }

    /// Makes a directory, or gives one that is there its mode.
    pub(crate) fn make_directory(&self, mode: u32) -> io::Result<()> {
        match mkdirat(&self.directory, self.name(), Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let directory = openat(&self.directory, self.name(), DIRECTORY, Mode::empty())?;
        Ok(fchmod(&directory, Mode::from_raw_mode(mode))?)
    }

    /// Puts a file there at once, in the place of a file or a link.
    pub(crate) fn put_file(&self, mode: u32, fill: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let draft = self.draft_name();
        let _unfinished = unlinkat(&self.directory, &draft, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&self.directory, &draft, flags, Mode::from_raw_mode(0o600))?);
        let filled = fill(&file).and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(mode))?));
        self.publish(&draft, filled)
    }

    /// Puts a link there at once, in the place of a file or a link.
    pub(crate) fn put_link(&self, target: &[u8]) -> io::Result<()> {
        let draft = self.draft_name();
        let _unfinished = unlinkat(&self.directory, &draft, AtFlags::empty());
        let linked = symlinkat(OsStr::from_bytes(target), &self.directory, &draft);
        self.publish(&draft, linked.map_err(io::Error::from))
    }

    fn publish(&self, draft: &str, made: io::Result<()>) -> io::Result<()> {
        let named = made.and_then(|()| Ok(renameat(&self.directory, draft, &self.directory, self.name())?));
        if named.is_err() {
            let _gone = unlinkat(&self.directory, draft, AtFlags::empty());
        }
        named
    }

    fn draft_name(&self) -> String {
        format!(".bub-undo-{}.new", std::process::id())
    }
}
