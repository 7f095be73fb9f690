//! `[undo]`: what is kept of a workspace before a turn changes it.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// `[undo]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Undo {
    /// Whether anything is kept.
    pub enabled: bool,
    /// Whether files that `.gitignore` names are kept too.
    pub ignored: bool,
    /// Bytes of all copies of a workspace.
    pub max_bytes: u64,
    /// The largest file that is kept, in bytes.
    pub max_file_bytes: u64,
    /// Files and directories of a workspace; one with more is not kept.
    pub max_files: u64,
    /// Days for which the changes of a turn can be undone.
    pub days: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self {
            enabled: true,
            ignored: false,
            max_bytes: 1 << 30,
            max_file_bytes: 16 << 20,
            max_files: 200_000,
            days: 7,
        }
    }
}

impl Undo {
    pub(super) fn check(&self) -> Result<()> {
        let keys = [
            ("undo.max_bytes", self.max_bytes),
            ("undo.max_file_bytes", self.max_file_bytes),
            ("undo.max_files", self.max_files),
            ("undo.days", self.days),
        ];
        keys.into_iter().try_for_each(|(key, value)| {
            ensure!(value > 0, "`{key}` of config.toml: `0` is not a positive whole number");
            Ok(())
        })
    }
}
