//! The program's file: its exchange for a newer one, and its predecessor.
//!
//! **Invariant**: at any moment there is a whole program at the path. Files are made beside it, on the same file system, are
//! on the disk before they get its name, and get it by a rename.

use crate::archive::unpack;
use crate::index::Archive;
use crate::{Release, Source};
use anyhow::{Context, Result, bail, ensure};
use bub_tape::failpoint;
use bub_types::text::one_line;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Seek};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder beside the program in which an update is prepared.
const WORKPLACE: &str = ".bub-wasm.update";

/// Behind the name of the program that an update replaced.
const PREVIOUS: &str = ".previous";

/// A program's file.
pub struct Program {
    path: PathBuf,
    folder: PathBuf,
}

/// The folder in which an update is prepared, locked: one update at a time. It is removed with this value.
pub struct Workplace {
    folder: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl Program {
    /// The program of this process.
    ///
    /// # Errors
    ///
    /// The system does not say where it is, or it was replaced meanwhile.
    pub fn current() -> Result<Self> {
        let path = std::env::current_exe().context("the system does not say where this program is")?;
        let path = path.canonicalize().map_err(|_| {
            anyhow::anyhow!("this program's file was replaced or removed since it was started: start it again")
        })?;
        let folder = path.parent().context("this program is in no folder")?.to_owned();
        Ok(Self { path, folder })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of the program that the last update replaced.
    pub fn previous(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(PREVIOUS);
        name.into()
    }

    /// Locks the program's folder, and makes the folder in which an update is prepared. What is left of an update that was
    /// killed is removed.
    ///
    /// # Errors
    ///
    /// Another update is running, or the folder cannot be written.
    pub fn workplace(&self) -> Result<Workplace> {
        let shown = one_line(&self.folder.display().to_string());
        let wrong =
            || format!("nothing can be written in `{shown}`: update it as the user to whom that folder belongs");
        let lock = File::open(&self.folder).with_context(wrong)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => bail!("another update of `{}` is running", self.shown()),
            Err(error) => return Err(error).with_context(|| format!("`{shown}` cannot be locked")),
        }
        let folder = self.folder.join(WORKPLACE);
        remove(&folder).with_context(wrong)?;
        DirBuilder::new().mode(0o700).create(&folder).with_context(wrong)?;
        Ok(Workplace { folder, _lock: lock })
    }

    /// Puts a new program into the place of this one, which is kept beside it. The new one is in the workplace.
    ///
    /// # Errors
    ///
    /// A file cannot be renamed. There is a whole program at the path then, the new or the old one.
    pub fn replace(&self, workplace: &Workplace, new: &Path) -> Result<()> {
        let wrong = || format!("`{}` cannot be replaced", self.shown());
        failpoint::point("update.keep");
        let kept = workplace.folder.join("kept");
        // A second name of the same file, where the file system has such; the path itself is not touched.
        if fs::hard_link(&self.path, &kept).is_err() {
            fs::copy(&self.path, &kept).with_context(wrong)?;
            File::open(&kept).and_then(|file| file.sync_all()).with_context(wrong)?;
        }
        failpoint::point("update.kept");
        fs::rename(&kept, self.previous()).with_context(wrong)?;
        failpoint::point("update.replace");
        fs::rename(new, &self.path).with_context(wrong)?;
        failpoint::point("update.replaced");
        self.sync();
        Ok(())
    }

    /// Exchanges this program and its predecessor.
    ///
    /// # Errors
    ///
    /// There is none, or a file cannot be renamed.
    pub fn roll_back(&self, workplace: &Workplace) -> Result<()> {
        let previous = self.previous();
        let about = fs::symlink_metadata(&previous);
        ensure!(
            about.is_ok_and(|about| about.is_file()),
            "there is no `{}`: only the program before the last update can be put back",
            one_line(&previous.display().to_string())
        );
        failpoint::point("update.exchange");
        // In one step, where the file system has it.
        if exchange(&previous, &self.path).is_ok() {
            self.sync();
            return Ok(());
        }
        let new = workplace.folder.join("previous");
        if fs::hard_link(&previous, &new).is_err() {
            fs::copy(&previous, &new).context("the previous program cannot be copied")?;
            File::open(&new).and_then(|file| file.sync_all()).context("the previous program cannot be copied")?;
        }
        self.replace(workplace, &new)
    }

    /// As it is shown to people.
    pub fn shown(&self) -> String {
        one_line(&self.path.display().to_string())
    }

    fn sync(&self) {
        // Not every file system can promise that a name is on the disk.
        let _synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
    }
}

impl Workplace {
    /// Fetches an archive, verifies it, and unpacks the program of it. Returns the program's file, with the permissions of
    /// the present one.
    ///
    /// # Errors
    ///
    /// It cannot be read or written, is not what the index says, or has no program.
    pub async fn unpack(
        &self,
        source: &Source,
        release: &Release,
        archive: &Archive,
        present: &Program,
    ) -> Result<PathBuf> {
        let mode = fs::metadata(present.path()).map_or(0o755, |about| about.permissions().mode() & 0o777 | 0o500);
        let mut packed = self.create("archive", 0o600)?;
        failpoint::point("update.fetch");
        source.download(archive, &mut packed).await?;
        failpoint::point("update.fetched");
        packed.rewind().context("the archive cannot be read again")?;
        let mut unpacked = self.create("bub-wasm", 0o600)?;
        unpack(&packed, &release.version, &archive.target, &mut unpacked)?;
        failpoint::point("update.unpacked");
        let finished = unpacked.set_permissions(Permissions::from_mode(mode)).and_then(|()| unpacked.sync_all());
        finished.context("the program cannot be written")?;
        failpoint::point("update.written");
        Ok(self.folder.join("bub-wasm"))
    }

    fn create(&self, name: &str, mode: u32) -> Result<File> {
        let mut options = OpenOptions::new();
        let made = options.read(true).write(true).create_new(true).mode(mode).open(self.folder.join(name));
        made.context("nothing can be written beside the program")
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // The next update removes what cannot be removed now.
        let _ = remove(&self.folder);
    }
}

/// Exchanges the names of two files.
fn exchange(one: &Path, other: &Path) -> rustix::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
}

/// Removes a folder with what is in it, or whatever else has its name.
fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(about) if about.is_dir() => fs::remove_dir_all(folder),
        Ok(_) => fs::remove_file(folder),
    }
}
