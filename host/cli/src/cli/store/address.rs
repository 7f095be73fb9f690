//! The names of stores on the command line.

use anyhow::{Result, bail};
use bub_config::{Config, TapeStorage};
use bub_postgres::{Database, PostgresStore, Settings, status};
use bub_tape::transfer::Transfer;
use bub_tape::{FileStore, SqliteStore};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A store by its name: as `tape_store` has it, and `files:DIR` besides. Paths are relative to the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoreAddress {
    Files(PathBuf),
    Sqlite(PathBuf),
    Postgres(String),
}

impl StoreAddress {
    /// The store of that name; without one the configured store.
    pub(super) fn parse(name: Option<&str>, config: &Config) -> Result<Self> {
        let storage = match name {
            None => config.tapes.storage.clone(),
            Some(name) => {
                if let Some(dir) = name.strip_prefix("files:").filter(|dir| !dir.is_empty()) {
                    return Ok(Self::Files(config.home.join(dir)));
                }
                if !Settings::is_address(name) && name != "files" && !name.starts_with("sqlite:") {
                    bail!("`{name}` is none of `files`, `files:DIR`, `sqlite:PATH` and `postgres://HOST/NAME`");
                }
                TapeStorage::parse(&config.home, name)?
            }
        };
        Ok(match storage {
            TapeStorage::Files => Self::Files(config.tapes_dir()),
            TapeStorage::Sqlite(path) => Self::Sqlite(path),
            TapeStorage::Postgres(address) => Self::Postgres(address),
        })
    }

    /// Whether it is the store of this home's turns.
    pub(super) fn is_configured(&self, config: &Config) -> bool {
        Self::parse(None, config).is_ok_and(|configured| configured == *self)
    }

    /// The kind of store, for programs.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Files(_) => "files",
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }

    /// Opens a store that exists, and changes nothing; `None`: there is none yet.
    pub(super) async fn open_existing(&self, config: &Config) -> Result<Option<Arc<dyn Transfer>>> {
        let exists = match self {
            Self::Files(dir) => dir.exists(),
            Self::Sqlite(path) => path.exists(),
            Self::Postgres(address) => status::schema(config.database(address)?).await?.found.version > 0,
        };
        Ok(if exists { Some(self.open(config).await?) } else { None })
    }

    /// Opens the store, which is made if it does not exist.
    pub(super) async fn open(&self, config: &Config) -> Result<Arc<dyn Transfer>> {
        let durability = config.tapes.journal.durability;
        Ok(match self {
            Self::Files(dir) => Arc::new(FileStore::durable(dir, durability)?),
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path, durability, config.tapes.shared_fs)?),
            Self::Postgres(address) => {
                Arc::new(PostgresStore::new(Database::connect(config.database(address)?).await?))
            }
        })
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(dir) => write!(f, "files:{}", dir.display()),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(address) => f.write_str(address),
        }
    }
}
