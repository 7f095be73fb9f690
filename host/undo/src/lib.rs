//! Snapshots of a workspace, so that what a turn has changed in it can be shown and put back.
//!
//! Before the first write of a turn, [`Undo::begin`] lists the files of the workspace and keeps a copy of each that is not
//! kept already: a clone of its blocks where the file system can, so that it takes no space. [`Undo::finish`] compares the
//! workspace with the list and writes a [`Record`] of what is different. [`Undo::undo`] puts the files of a record back.
//!
//! The crate knows nothing of turns, tapes or git. Copies are named by what the system says about a file (path, inode, size,
//! times and mode), so an unchanged file is neither read nor copied again.

#![warn(missing_docs, unreachable_pub)]

mod difference;
mod directory;
mod listing;
mod node;
mod objects;
mod path;
mod record;
mod restore;
mod store;
pub mod view;

pub use difference::{Difference, difference};
pub use node::{Kind, Node};
pub use path::WorkspacePath;
pub use record::{Change, Label, Origin, Record};
pub use restore::{Outcome, Step};
pub use store::{Snapshot, Undo};

use std::time::Duration;

/// Bounds of what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all copies of a workspace.
    pub max_bytes: u64,
    /// The largest file that is kept, in bytes.
    pub max_file: u64,
    /// Files and directories of a workspace. One with more has no snapshots.
    pub max_files: usize,
    /// How long copies may take before a turn goes on without the rest.
    pub max_time: Duration,
    /// How long records are kept.
    pub max_age: Duration,
    /// Whether files that `.gitignore` names are kept too.
    pub ignored: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 30,
            max_file: 16 << 20,
            max_files: 200_000,
            max_time: Duration::from_secs(5),
            max_age: Duration::from_secs(7 * 24 * 3600),
            ignored: false,
        }
    }
}
