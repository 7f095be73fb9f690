//! Fingerprints of files, to detect changes.

use bub_system::files::read_regular;
use sha2::{Digest, Sha256};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Larger files are not hashed: no configuration file may be this large.
const MAX_FILE: usize = 17 << 20;

/// Hashes and modes of several files at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(Vec<(Option<[u8; 32]>, u32)>);

impl Fingerprint {
    /// The fingerprint of these files as they are now. A missing or unreadable file counts as one without content.
    pub fn of_files(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let one = |path: PathBuf| {
            let mode = std::fs::metadata(&path).map(|meta| meta.mode()).unwrap_or_default();
            // Pipes and devices are not read: that could block.
            (read_regular(&path, MAX_FILE).ok().map(|(bytes, _)| Sha256::digest(bytes).into()), mode)
        };
        Self(files.into_iter().map(one).collect())
    }

    /// The fingerprint of these files followed by those of `more`.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Whether contents are equal, whatever the modes are.
    pub fn same_content(&self, other: &Self) -> bool {
        self.0.iter().map(|(hash, _)| hash).eq(other.0.iter().map(|(hash, _)| hash))
    }
}
