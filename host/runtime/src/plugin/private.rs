//! A folder that only this user can write: its content is trusted.

use bub_types::text::plain;
use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, flock, mkdirat, openat, renameat, statat, unlinkat};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Drafts of this process so far: no two have one name.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// The suffix of a draft. A draft that was left behind can be removed.
pub(super) const DRAFT: &str = ".new";

/// The opened folder. Its path is not looked at again: between two looks it can become another.
pub struct PrivateDir {
    dir: OwnedFd,
    path: PathBuf,
}

/// A file of the folder.
pub struct Listed {
    pub name: String,
    pub bytes: u64,
    pub modified: SystemTime,
    pub is_dir: bool,
}

impl PrivateDir {
    /// Opens the folder, and makes it where it is missing.
    ///
    /// # Errors
    ///
    /// A sentence without its subject, which is the folder: it cannot be made, is a link, belongs to another user, or
    /// others can do anything with it.
    pub fn open(path: &Path) -> Result<Self, String> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| format!("cannot be made: {}", plain(&error.to_string())))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = match openat(CWD, path, flags, Mode::empty()) {
            Ok(dir) => dir,
            Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Err("is no folder, or a link to one".into());
            }
            Err(error) => return Err(format!("cannot be opened: {}", plain(&error.to_string()))),
        };
        let dir = Self { dir, path: path.to_owned() };
        dir.check()?;
        Ok(dir)
    }

    fn check(&self) -> Result<(), String> {
        let meta = rustix::fs::fstat(&self.dir).map_err(|error| format!("cannot be looked at: {error}"))?;
        if meta.st_uid != rustix::process::geteuid().as_raw() {
            return Err(format!(
                "belongs to another user (uid {}): `chown {} {}`",
                meta.st_uid,
                rustix::process::geteuid().as_raw(),
                self.path.display()
            ));
        }
        if meta.st_mode & 0o077 != 0 {
            return Err(format!("is open to other users: `chmod 700 {}`", self.path.display()));
        }
        Ok(())
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the folder for as long as the answer is held.
    ///
    /// # Errors
    ///
    /// Another process has locked it, or the system refuses.
    pub fn lock(&self) -> io::Result<File> {
        // A description of its own: a lock belongs to that.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = File::from(openat(&self.dir, ".", flags, Mode::empty())?);
        flock(&dir, FlockOperation::NonBlockingLockExclusive)?;
        Ok(dir)
    }

    /// A file of ours, closed to others and without a second name, under which a plugin might write it; none for anything
    /// else that bears the name.
    pub fn file(&self, name: &str) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.dir, name, flags, Mode::empty()).ok()?);
        let meta = file.metadata().ok()?;
        let is_private = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0;
        (meta.is_file() && is_private && meta.nlink() == 1).then_some(file)
    }

    /// The file's bytes, so many at the most; none as in [`Self::file`], and for a longer one.
    pub fn read(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        let file = self.file(name)?;
        let mut bytes = Vec::with_capacity(usize::try_from(file.metadata().ok()?.len().min(most)).ok()?);
        file.take(most + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= most).then_some(bytes)
    }

    /// Replaces the file of that name by the concatenated parts. A concurrent reader sees the old file or the new one.
    pub fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let draft = format!("{name}.{}.{}{DRAFT}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let written = self.write_draft(&draft, parts).and_then(|()| {
            renameat(&self.dir, &draft, &self.dir, name)?;
            Ok(())
        });
        if written.is_err() {
            let _ = unlinkat(&self.dir, &draft, AtFlags::empty());
        }
        written
    }

    fn write_draft(&self, draft: &str, parts: &[&[u8]]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.dir, draft, flags, Mode::RUSR | Mode::WUSR)?);
        parts.iter().try_for_each(|part| file.write_all(part))
    }

    /// The folder of that name in it, made where it is missing.
    ///
    /// # Errors
    ///
    /// As in [`Self::open`].
    pub fn folder(&self, name: &str) -> Result<Self, String> {
        let _ = mkdirat(&self.dir, name, Mode::RWXU);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(&self.dir, name, flags, Mode::empty())
            .map_err(|error| format!("cannot be opened: {}", plain(&error.to_string())))?;
        let folder = Self { dir, path: self.path.join(name) };
        folder.check()?;
        Ok(folder)
    }

    /// Everything in it.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            // One that went meanwhile is not there.
            let Ok(meta) = statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let seconds = u64::try_from(meta.st_mtime).unwrap_or_default();
            let nanoseconds = u32::try_from(meta.st_mtime_nsec).unwrap_or_default();
            found.push(Listed {
                bytes: u64::try_from(meta.st_size).unwrap_or_default(),
                modified: SystemTime::UNIX_EPOCH + std::time::Duration::new(seconds, nanoseconds),
                is_dir: rustix::fs::FileType::from_raw_mode(meta.st_mode).is_dir(),
                name,
            });
        }
        Ok(found)
    }

    /// Takes a file away; one that is gone already is gone.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.dir, name, AtFlags::empty()) {
            Err(error) if error != rustix::io::Errno::NOENT => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Takes a folder away with the files in it.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        if let Ok(folder) = self.folder(name) {
            folder.list()?.iter().try_for_each(|file| folder.remove(&file.name))?;
        }
        unlinkat(&self.dir, name, AtFlags::REMOVEDIR)?;
        Ok(())
    }
}
