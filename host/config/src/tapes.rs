//! Where tapes are kept, and how safely.

use anyhow::{Context, Result, bail};
use bub_tape::{Durability, JournalSettings};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where tapes are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TapePlace {
    /// JSON lines in `$BUB_HOME/tapes`.
    Files,
    /// One SQLite database.
    Sqlite(PathBuf),
}

impl std::fmt::Display for TapePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files => f.write_str("files"),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

/// What is configured about tapes.
#[derive(Debug, Clone)]
pub struct TapeSettings {
    /// Where they are kept, unless a plugin keeps them.
    pub place: TapePlace,
    /// What writes survive, and how long a turn waits for another of its session.
    pub journal: JournalSettings,
    /// The user knows that the home lies on a network file system whose locks hold everywhere.
    pub shared_fs: bool,
    /// For how long a version of a memory is kept after another took its place, in days.
    pub memory_history_days: u32,
}

/// For how long a version of a memory is kept, unless configured.
const HISTORY_DAYS: u32 = 30;

/// A hundred years.
const MOST_DAYS: u32 = 36_500;

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
        if !(1..=MOST_DAYS).contains(&memory_history_days) {
            bail!(
                "`memory_history_days` of config.toml: `{memory_history_days}` is not a number from 1 to {MOST_DAYS}"
            );
        }
        let place = match store {
            None | Some("files") => TapePlace::Files,
            Some(store) => match store.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
                Some(path) => TapePlace::Sqlite(home.join(path)),
                None => bail!("`tape_store` of config.toml: `{store}` is neither `files` nor `sqlite:PATH`"),
            },
        };
        let mut journal = JournalSettings { durability, ..JournalSettings::default() };
        if let Some(seconds) = lock_wait {
            let wrong = || format!("`lock_wait` of config.toml: `{seconds}` is not a number of seconds");
            journal.lock_wait = Duration::try_from_secs_f64(seconds).ok().with_context(wrong)?;
        }
        Ok(Self { place, journal, shared_fs, memory_history_days })
    }
}
