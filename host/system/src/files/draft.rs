//! Files that are replaced as a whole.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// The next content of a file, in a temporary file beside it. Readers see the old content until [`Draft::publish`], and the
/// temporary file is removed if the draft is dropped before.
pub struct Draft {
    file: NamedTempFile,
    target: PathBuf,
}

impl Draft {
    /// A draft for the file at `target`, with the permission bits `mode`. Its name begins with a dot and ends in `.new`, so
    /// that nothing that lists the directory takes it for a file of its own.
    ///
    /// # Errors
    ///
    /// The directory does not exist, or cannot be written.
    pub fn new(target: &Path, mode: u32) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix(".").suffix(".new").permissions(Permissions::from_mode(mode));
        Ok(Self { file: builder.tempfile_in(directory(target))?, target: target.to_owned() })
    }

    /// Replaces the target. After a power loss the target may be empty: use [`Draft::publish_durably`] for what cannot be
    /// made again.
    ///
    /// # Errors
    ///
    /// The target cannot be replaced. It is then as it was.
    pub fn publish(self) -> io::Result<()> {
        self.file.persist(&self.target).map(drop).map_err(|failed| failed.error)
    }

    /// Replaces the target, and returns when the new content survives a power loss.
    ///
    /// # Errors
    ///
    /// The content cannot be written to the disk, or the target cannot be replaced. It is then as it was.
    pub fn publish_durably(self) -> io::Result<()> {
        // The name must not reach the disk before the content.
        self.file.as_file().sync_all()?;
        let target = self.target.clone();
        self.publish()?;
        // The new name is on the disk when its directory is. Not every file system can promise that.
        let _synced = File::open(directory(&target)).and_then(|directory| directory.sync_all());
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
