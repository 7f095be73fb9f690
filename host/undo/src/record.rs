//! What was different after a turn.

use super::listing::{Listing, look};
use super::node::Node;
use super::path::WorkspacePath;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a snapshot was taken for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A turn of an agent.
    Turn,
    /// An undo of the record with that number.
    UndoOf(u64),
}

/// Whose changes a record holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// What the snapshot was taken for.
    pub origin: Origin,
    /// The session of the turn.
    pub session: String,
}

/// A file that is different: `None` where there was, or is, none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file.
    pub path: WorkspacePath,
    /// As it was.
    pub before: Option<Node>,
    /// As it was afterwards.
    pub after: Option<Node>,
}

/// The changes of one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number in the workspace.
    pub number: u64,
    /// Whose changes they are.
    pub label: Label,
    /// When the snapshot was taken.
    pub begun: Timestamp,
    /// When the changes were found.
    pub ended: Timestamp,
    /// Whether the process ended before the turn did, so that later changes may be among these.
    pub is_interrupted: bool,
    /// Whether other files are ignored since, so that files that seem new may have been there before.
    pub ignores_changed: bool,
    /// The number of the undo that has put it back.
    pub undone_by: Option<u64>,
    /// The changes, by path.
    pub changes: Vec<Change>,
}

/// What is different between the listing and the workspace as it is now. `now` finds the files that are new.
pub(crate) fn changes(workspace: &Path, before: &Listing, now: &Listing) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, old) in before {
        // A file that is ignored meanwhile is still there.
        let new = now.get(path).cloned().or_else(|| look(&workspace.join(path.as_path())));
        if new.as_ref().is_none_or(|new| !new.is_same(old)) {
            changes.push(Change { path: path.clone(), before: Some(old.clone()), after: new });
        }
    }
    let is_new = |path: &&WorkspacePath| !before.contains_key(*path);
    for path in now.keys().filter(is_new) {
        changes.push(Change { path: path.clone(), before: None, after: now.get(path).cloned() });
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}
