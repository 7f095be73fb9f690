//! What files held, so that it can be told whether they hold something else now.

use bub_system::files::read_regular;
use sha2::{Digest, Sha256};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Bytes of a file that are looked at: more than any file that configures may have.
const MOST: usize = 17 << 20;

/// What some files held at a moment, and who could read them. It says nothing of what they held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print(Vec<(Option<[u8; 32]>, u32)>);

impl Print {
    /// Of these files, as they are now. One that is not there, or cannot be read, is a file without a content.
    pub fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let one = |path: PathBuf| {
            let mode = std::fs::metadata(&path).map(|meta| meta.mode()).unwrap_or_default();
            // What a pipe or a device says is nothing that could be compared, and it would be waited for.
            (read_regular(&path, MOST).ok().map(|(bytes, _)| Sha256::digest(bytes).into()), mode)
        };
        Self(files.into_iter().map(one).collect())
    }

    /// These files, and then those.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Whether the files hold the same, whoever can read them.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.0.iter().map(|(said, _)| said).eq(other.0.iter().map(|(said, _)| said))
    }
}
