//! Storage and durability of tapes.

use super::Config;
use anyhow::{Context, Result, anyhow, bail};
use bub_postgres::{Settings, Terms};
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
    /// A database in PostgreSQL, by its address, which holds no password.
    Postgres(String),
}

impl std::fmt::Display for TapeStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files => f.write_str("files"),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(address) => f.write_str(address),
        }
    }
}

impl TapeStorage {
    /// Parses the value of `tape_store`. Paths are relative to the home.
    ///
    /// # Errors
    ///
    /// It names no store.
    pub fn parse(home: &Path, store: &str) -> Result<Self> {
        if store == "files" {
            return Ok(Self::Files);
        }
        if Settings::is_address(store) {
            Settings::parse(store)?;
            return Ok(Self::Postgres(store.to_owned()));
        }
        match store.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            Some(path) => Ok(Self::Sqlite(home.join(path))),
            None => bail!("`{store}` is none of `files`, `sqlite:PATH` and `postgres://HOST/NAME`"),
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
    /// How long a lease in PostgreSQL lasts without a renewal.
    pub lease: Duration,
    /// Whether to accept a network file system, whose locks the user vouches for.
    pub shared_fs: bool,
    /// Days for which superseded versions of a memory are kept.
    pub memory_history_days: u32,
}

/// Default of [`TapeSettings::memory_history_days`].
const HISTORY_DAYS: u32 = 30;

/// A lease is renewed three times in its time, and a database may be slow.
const LEASE_SECONDS: std::ops::RangeInclusive<f64> = 1.0..=3600.0;

/// A hundred years.
const MAX_DAYS: u32 = 36_500;

impl TapeSettings {
    pub(super) fn new(
        home: &Path,
        store: Option<&str>,
        durability: Durability,
        lock_wait: Option<f64>,
        lease_seconds: Option<f64>,
        shared_fs: bool,
        history_days: Option<u32>,
    ) -> Result<Self> {
        let memory_history_days = history_days.unwrap_or(HISTORY_DAYS);
        if !(1..=MAX_DAYS).contains(&memory_history_days) {
            bail!("`memory_history_days` of config.toml: `{memory_history_days}` is not a number from 1 to {MAX_DAYS}");
        }
        let storage = TapeStorage::parse(home, store.unwrap_or("files"))
            .map_err(|error| anyhow!("`tape_store` of config.toml: {error}"))?;
        let mut journal = JournalSettings { durability, ..JournalSettings::default() };
        if let Some(seconds) = lock_wait {
            let wrong = || format!("`lock_wait` of config.toml: `{seconds}` is not a number of seconds");
            journal.lock_wait = Duration::try_from_secs_f64(seconds).ok().with_context(wrong)?;
        }
        let lease = match lease_seconds {
            None => Terms::default().lease,
            Some(seconds) if LEASE_SECONDS.contains(&seconds) => Duration::from_secs_f64(seconds),
            Some(seconds) => {
                let (least, most) = (LEASE_SECONDS.start(), LEASE_SECONDS.end());
                bail!("`lease_seconds` of config.toml: `{seconds}` is not a number from {least} to {most}")
            }
        };
        Ok(Self { storage, journal, lease, shared_fs, memory_history_days })
    }

    /// The terms of leases in PostgreSQL: two renewals may fail.
    pub fn terms(&self) -> Terms {
        Terms { lease: self.lease, renewal: self.lease / 3 }
    }
}

/// The secret with the password for PostgreSQL.
const PASSWORD: &str = "postgres";

impl Config {
    /// How to reach the database at that address of [`TapeStorage::Postgres`]. Its password is the secret `postgres`, if
    /// there is one, which must be bound to each host of the address; a socket needs no host.
    ///
    /// # Errors
    ///
    /// The address is invalid, or the secret cannot be read or may not go to a host.
    pub fn database(&self, address: &str) -> Result<Settings> {
        let settings = Settings::parse(address)?;
        let Some(password) = self.secrets.key_for(PASSWORD)? else { return Ok(settings) };
        for host in settings.hosts() {
            self.secrets.check_host(&password.name, &host, settings.is_encrypted())?;
        }
        Ok(settings.with_password(password.value.expose()))
    }
}
