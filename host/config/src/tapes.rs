//! Storage and durability of tapes.

use anyhow::{Context, Result, bail};
use bub_tape::{Durability, JournalSettings};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The host's tape stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TapeStorage {
    /// JSON lines in `$BUB_HOME/tapes`.
    Files,
    /// One SQLite database.
    Sqlite(PathBuf),
}

impl std::fmt::Display for TapeStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files => f.write_str("files"),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

/// Settings of tapes.
#[derive(Debug, Clone)]
pub struct TapeSettings {
    /// The store, unless a plugin is one.
    pub storage: TapeStorage,
    /// Durability, and how long a turn waits for the session's lease.
    pub journal: JournalSettings,
    /// Whether to accept a network file system, whose locks the user vouches for.
    pub shared_fs: bool,
    /// Days for which superseded versions of a memory are kept.
    pub memory_history_days: u32,
}

/// Default of [`TapeSettings::memory_history_days`].
const HISTORY_DAYS: u32 = 30;

/// A hundred years.
const MAX_DAYS: u32 = 36_500;

impl TapeSettings {
    pub(super) fn new(
        home: &Path,
        store: Option<&str>,
        durability: Durability,
        lock_wait: Option<f64>,
        shared_fs: bool,
        history_days: Option<u32>,
    ) -> Result<Self> {
        let memory_history_days = history_days.unwrap_or(HISTORY_DAYS);
        if !(1..=MAX_DAYS).contains(&memory_history_days) {
            bail!("`memory_history_days` of config.toml: `{memory_history_days}` is not a number from 1 to {MAX_DAYS}");
        }
        let storage = match store {
            None | Some("files") => TapeStorage::Files,
            Some(store) => match store.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
                Some(path) => TapeStorage::Sqlite(home.join(path)),
                None => bail!("`tape_store` of config.toml: `{store}` is neither `files` nor `sqlite:PATH`"),
            },
        };
        let mut journal = JournalSettings { durability, ..JournalSettings::default() };
        if let Some(seconds) = lock_wait {
            let wrong = || format!("`lock_wait` of config.toml: `{seconds}` is not a number of seconds");
            journal.lock_wait = Duration::try_from_secs_f64(seconds).ok().with_context(wrong)?;
        }
        Ok(Self { storage, journal, shared_fs, memory_history_days })
    }
}
