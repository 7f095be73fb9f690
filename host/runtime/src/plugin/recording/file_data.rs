//! The files of a call, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The directories of a call, and what was in them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedFiles {
    /// The directories that it was given.
    pub directories: Vec<Directory>,
    /// What it found in them, parents first.
    pub entries: Vec<FileEntry>,
}

/// A directory that a call was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directory {
    /// Its name for the plugin.
    pub name: String,
    /// Whether it can be written to.
    pub writes: bool,
}

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The index of the directory.
    pub directory: usize,
    /// The path in it; empty for the directory itself.
    pub path: String,
    /// What was there.
    pub found: Found,
}

/// A file, a directory or a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Found {
    /// A file.
    File {
        /// Its size in bytes.
        size: u64,
        /// When it was changed, in seconds and nanoseconds since 1970.
        modified: (u64, u32),
        /// Its content, where the call has opened it.
        content: Option<Value>,
    },
    /// A directory.
    Directory {
        /// When it was changed, in seconds and nanoseconds since 1970.
        modified: (u64, u32),
        /// What is in it, where the call has listed it: each name, and whether it is a `directory`, a `file` or a `link`.
        entries: Option<Vec<(String, String)>>,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
    /// Nothing. It is not written: what is not in a recording is not there.
    Missing,
}

impl RecordedFiles {
    /// Whether the call was given no directory.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
    }
}
