//! Files that no plugin may open or replace under any name, because they control the program.
//!
//! Paths are not enough: symbolic links, hard links and mounts give a file further paths. So files and directories are
//! identified by device and inode, and names by their directory's.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Maximum symbolic links in one path, as in Linux.
const MAX_LINKS: usize = 40;

/// Maximum parent directories that are checked.
const MAX_DEPTH: usize = 256;

/// Maximum entries of one directory that are checked: no more plugins than that are loaded, and no home has as many
/// files.
const MAX_ENTRIES: usize = 1024;

/// Identity of a file or directory, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The identity of what the path leads to, with links followed; `None` if there is nothing.
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|meta| Self::from(&meta))
    }

    fn from_open(file: impl AsFd) -> Option<Self> {
        fstat(file).ok().map(|stat| Self::from(&stat))
    }
}

impl From<&Metadata> for FileId {
    fn from(meta: &Metadata) -> Self {
        Self { device: meta.dev(), inode: meta.ino() }
    }
}

impl From<&Stat> for FileId {
    #[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
    fn from(stat: &Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}

/// An access to a path by a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Open an existing or new file. `true`: a link at the end of the path is followed.
    Open(bool),
    /// Create a new entry. The system refuses if there is one already.
    Create,
    /// Replace, move or remove the entry itself.
    Entry,
}

/// A snapshot of the protected files and directories.
#[derive(Debug, Default)]
pub struct ProtectedFiles {
    /// Directories whose whole content is protected.
    directories: HashSet<FileId>,
    /// Files by identity, for those that have a second name.
    files: HashSet<FileId>,
    /// Names of files, by their directory. The file itself may be missing.
    names: HashSet<(FileId, OsString)>,
    /// Names of links and directories on the path to a protected file. They may be opened, but not replaced.
    ways: HashSet<(FileId, OsString)>,
}

impl ProtectedFiles {
    /// Resolves these absolute paths, of files and directories; any may be missing. Everything below a directory is
    /// protected. In the `listed` ones each entry is resolved too, because it may be a link or have a second name.
    pub fn find(listed: &[PathBuf], others: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut known = HashMap::new();
        for path in listed.iter().chain(others) {
            found.trace(path, &mut known);
        }
        for directory in listed {
            found.list(directory, &mut known);
        }
        found
    }

    /// Resolves a path as the system does, and records each name on it.
    fn trace(&mut self, path: &Path, known: &mut HashMap<PathBuf, Option<FileId>>) {
        let mut left: Vec<OsString> = names(path).rev().collect();
        let (mut directory, mut links) = (PathBuf::from("/"), 0);
        while let Some(name) = left.pop() {
            if name == ".." {
                directory.pop();
                continue;
            }
            let id = *known.entry(directory.clone()).or_insert_with(|| FileId::from_path(&directory));
            let Some(id) = id else { return };
            let place = directory.join(&name);
            let Ok(meta) = std::fs::symlink_metadata(&place) else {
                // Creating the missing component would decide which file is read.
                let missing = if left.is_empty() { &mut self.names } else { &mut self.ways };
                missing.insert((id, name));
                return;
            };
            if meta.is_symlink() {
                self.ways.insert((id, name));
                links += 1;
                let Ok(target) = std::fs::read_link(&place) else { return };
                if links > MAX_LINKS {
                    return;
                }
                if target.is_absolute() {
                    directory = PathBuf::from("/");
                }
                left.extend(names(&target).rev());
            } else if !left.is_empty() {
                self.ways.insert((id, name));
                directory = place;
            } else if meta.is_dir() {
                self.ways.insert((id, name));
                self.directories.insert(FileId::from(&meta));
            } else {
                self.names.insert((id, name));
                self.files.insert(FileId::from(&meta));
            }
        }
    }

    /// A file in a protected directory may have a hard link elsewhere, or be a symbolic link.
    fn list(&mut self, directory: &Path, known: &mut HashMap<PathBuf, Option<FileId>>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_ENTRIES) {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_symlink() {
                self.trace(&entry.path(), known);
            } else if meta.is_dir() {
                self.directories.insert(FileId::from(&meta));
            } else if meta.nlink() > 1 {
                self.files.insert(FileId::from(&meta));
            }
        }
    }

    /// Whether the path is, or lies in, a protected directory. The path must have no links.
    pub fn holds(&self, path: &Path) -> bool {
        path.ancestors().filter_map(FileId::from_path).any(|id| self.directories.contains(&id))
    }

    /// Whether an open file or directory is protected itself.
    pub fn is_protected(&self, file: impl AsFd) -> bool {
        FileId::from_open(file).is_some_and(|id| self.files.contains(&id) || self.directories.contains(&id))
    }

    /// Whether a plugin may make that access to `path`, relative to the open directory `from`. A missing entry may be
    /// created unless its name is protected.
    pub fn allows(&self, from: impl AsFd, path: &Path, change: Change) -> bool {
        self.check(from.as_fd(), path, change).is_none_or(|allowed| allowed)
    }

    /// `None`: the path does not resolve, and the system call will fail.
    fn check(&self, from: BorrowedFd<'_>, path: &Path, change: Change) -> Option<bool> {
        let stop = FileId::from_open(from);
        let mut base: OwnedFd = directory(from, Path::new("."))?;
        let mut path = path.to_owned();
        for _ in 0..=MAX_LINKS {
            let (parent, name) = match (path.parent(), path.components().next_back()) {
                (Some(parent), Some(Component::Normal(name))) => (parent.to_owned(), Some(name.to_owned())),
                _ => (path.clone(), None),
            };
            let parent = if parent.as_os_str().is_empty() { base } else { directory(base.as_fd(), &parent)? };
            if self.is_inside(&parent, stop) {
                return Some(false);
            }
            // The path ends with `.` or `..`: only the directory is concerned.
            let Some(name) = name else { return Some(true) };
            let key = (FileId::from_open(&parent)?, name);
            let stat = statat(&parent, &key.1, AtFlags::SYMLINK_NOFOLLOW).ok();
            if change == Change::Create && stat.is_some() {
                return Some(true);
            }
            let is_open = matches!(change, Change::Open(_));
            if self.names.contains(&key) || (!is_open && self.ways.contains(&key)) {
                return Some(false);
            }
            let stat = stat?;
            let id = FileId::from(&stat);
            if self.files.contains(&id) || self.directories.contains(&id) {
                return Some(false);
            }
            if change != Change::Open(true) || !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink() {
                return Some(true);
            }
            let target = readlinkat(&parent, &key.1, Vec::new()).ok()?;
            (base, path) = (parent, PathBuf::from(OsString::from_vec(target.into_bytes())));
        }
        // The system follows no more links either.
        Some(false)
    }

    /// Whether the directory is or lies in a protected one; `stop` and the directories above it were checked before.
    fn is_inside(&self, open: &OwnedFd, stop: Option<FileId>) -> bool {
        let (mut at, mut above) = (FileId::from_open(open), None::<OwnedFd>);
        for _ in 0..MAX_DEPTH {
            let Some(id) = at else { return false };
            if self.directories.contains(&id) {
                return true;
            }
            if Some(id) == stop {
                return false;
            }
            let from = above.as_ref().unwrap_or(open);
            let Some(next) = directory(from.as_fd(), Path::new("..")) else { return false };
            at = FileId::from_open(&next);
            // The root is its own parent.
            if at == Some(id) {
                return false;
            }
            above = Some(next);
        }
        true
    }
}

/// The names of a path, without `.` and the root.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        _ => None,
    })
}

/// Opens a directory for path lookups only (`O_PATH`).
fn directory(from: BorrowedFd<'_>, path: &Path) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY;
    let from = if path.is_absolute() { CWD } else { from };
    openat(from, path, flags | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
}
