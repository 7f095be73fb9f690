//! Retrieval from memory, notes and conversations: one index per workspace, derived from its tapes.
//!
//! An index can be deleted at any time; callers verify its hits against the tapes. The crate depends on tapes only:
//! callers decide on principals, embedding models and access.
//!
//!  module | content |
//! | --- | --- |
//!  `passages` | splitting of entries into passages |
//!  `terms` | lexical relevance |
//!  `calibration` | calibration of scores |
//! | `index` | the database |
//!  `sync` | synchronization with the tapes |
//!  `search` | lexical and vector search, merged |

#![warn(missing_docs, unreachable_pub)]

mod calibration;
mod index;
mod passages;
mod search;
mod sync;
mod terms;

pub use calibration::{Baseline, probes};
pub use passages::Source;
pub use search::{QueryVector, RecallHit, RecallQuery};

use index::Index;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The indexes of one home, opened on first use.
pub struct Recall {
    dir: PathBuf,
    open: Mutex<HashMap<PathBuf, Arc<Workspace>>>,
}

/// The index of one workspace.
pub struct Workspace {
    path: PathBuf,
    index: Index,
    /// Held during synchronization; the time until which other sessions' passages count as fresh.
    current: tokio::sync::Mutex<Option<Instant>>,
    learning: tokio::sync::Mutex<()>,
    /// The time until which embedding is paused after a failure.
    paused_until: Mutex<Option<Instant>>,
}

impl Recall {
    /// Indexes in that directory.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, open: Mutex::default() }
    }

    /// The index of a workspace. Blocks.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn workspace(&self, workspace: &Path) -> Result<Arc<Workspace>, String> {
        let path = index::path(&self.dir, workspace);
        let mut open = self.open.lock();
        // A file that was deleted meanwhile is rebuilt.
        if let Some(known) = open.get(&path).filter(|_| path.exists()) {
            return Ok(known.clone());
        }
        let index = Index::open(&path)?;
        let opened = Workspace {
            path: path.clone(),
            index,
            current: tokio::sync::Mutex::default(),
            learning: tokio::sync::Mutex::default(),
            paused_until: Mutex::default(),
        };
        let opened = Arc::new(opened);
        open.insert(path, opened.clone());
        Ok(opened)
    }

    /// The index of a workspace, if it exists. Blocks.
    pub fn existing(&self, workspace: &Path) -> Option<Arc<Workspace>> {
        if !index::path(&self.dir, workspace).exists() {
            return None;
        }
        self.workspace(workspace).inspect_err(|why| tracing::warn!("the index of the workspace: {why}")).ok()
    }

    /// Closes all indexes, which moves what was written into their files. The next query opens them again. Blocks.
    pub fn close(&self) {
        self.open.lock().clear();
    }

    /// Deletes all indexes, after entries were erased from tapes; they are rebuilt. Blocks.
    ///
    /// # Errors
    ///
    /// A file cannot be deleted.
    pub fn clear(&self) -> Result<(), String> {
        self.open.lock().clear();
        match std::fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(bub_types::text::plain(&error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Deletes a damaged file; the next query rebuilds it.
    pub fn discard(&self, workspace: &Workspace, why: &str) {
        tracing::warn!("the index `{}` is made anew: {why}", workspace.path.display());
        let mut open = self.open.lock();
        open.remove(&workspace.path);
        for end in ["", "-wal", "-shm"] {
            let mut name = workspace.path.as_os_str().to_owned();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
}
