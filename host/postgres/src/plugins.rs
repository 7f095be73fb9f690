//! Plugins that workers share: their files by digest, and their settings.

use bub_tape::Result;
use tokio_postgres::Row;

use super::database::Database;
use super::store::damaged;
use super::usage::{column, text};

const VERSIONS: &str = "SELECT kind, name, stamp FROM plugin";

const READ: &str = "SELECT version, stamp, digest, settings, host, base FROM plugin WHERE kind = $1 AND name = $2";

/// Whether the file is there, and whole.
const HAS_FILE: &str = "UPDATE plugin_file SET at = clock_timestamp() \
                        WHERE digest = $1 AND encode(sha256(bytes), 'hex') = $1 RETURNING 1";

const FILE: &str = "SELECT bytes FROM plugin_file WHERE digest = $1 AND octet_length(bytes) <= $2";

const ADD_FILE: &str = "INSERT INTO plugin_file (digest, bytes) VALUES ($1, $2) \
                        ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes, at = excluded.at";

const WRITE: &str = "SELECT new_version, new_stamp, old_stamp, old_version, old_host \
                     FROM put_plugin_1($1, $2, $3, $4, $5, $6)";

/// Files that no plugin has any more.
const SWEEP: &str = "DELETE FROM plugin_file f WHERE at < clock_timestamp() - interval '1 hour' \
                     AND NOT EXISTS (SELECT FROM plugin p WHERE p.digest = f.digest)";

/// The subject of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PluginKind {
    /// A plugin of the user, or the settings of an embedded one.
    Plugin,
    /// A workspace's plugin that is trusted, by its digest.
    Trusted,
}

impl PluginKind {
    /// As in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Trusted => "trusted",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Plugin, Self::Trusted].into_iter().find(|kind| kind.name() == name)
    }
}

/// Which row there is, and a text that changes with each write of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginVersion {
    /// The subject of the row.
    pub kind: PluginKind,
    /// The name, or the digest.
    pub name: String,
    /// Unique in all databases.
    pub stamp: String,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRow {
    /// Grows with each write of any row.
    pub version: i64,
    /// Unique in all databases.
    pub stamp: String,
    /// SHA-256 of the file in hex; `None`: there is no file.
    pub digest: Option<String>,
    /// The table of the configuration, in TOML; `None`: there is none.
    pub settings: Option<String>,
    /// The machine that wrote it.
    pub host: String,
    /// The stamp of the row that its writer knew; `None`: it knew of none.
    pub base: Option<String>,
}

/// A row to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewPlugin<'a> {
    /// The subject of the row.
    pub kind: PluginKind,
    /// The name, or the digest.
    pub name: &'a str,
    /// SHA-256 of the file in hex; `None`: there is no file.
    pub digest: Option<&'a str>,
    /// The table of the configuration, in TOML; `None`: there is none.
    pub settings: Option<&'a str>,
    /// This machine.
    pub host: &'a str,
    /// The stamp of the row that is known here.
    pub base: Option<&'a str>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The new row's version.
    pub version: i64,
    /// The new row's stamp.
    pub stamp: String,
    /// Stamp, version and machine of the row that it replaced.
    pub replaced: Option<(String, i64, String)>,
}

/// The table of plugins.
#[derive(Clone)]
pub struct PluginTable {
    database: Database,
}

impl PluginTable {
    /// The table in that database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// The database's address, without a password.
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// Which rows there are, in one statement. Rows of a kind that a newer program knows are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
    pub async fn versions(&self) -> Result<Vec<PluginVersion>> {
        let rows = self.database.query("read the plugins of all workers", VERSIONS, &[]).await?;
        let version = |row: &Row| {
            let Some(kind) = PluginKind::parse(&column::<String>(row, 0)?) else { return Ok(None) };
            Ok(Some(PluginVersion { kind, name: column(row, 1)?, stamp: column(row, 2)? }))
        };
        rows.iter().filter_map(|row| version(row).transpose()).collect()
    }

    /// A row.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
    pub async fn get(&self, kind: PluginKind, name: &str) -> Result<Option<PluginRow>> {
        let action = format!("read plugin `{name}`");
        let rows = self.database.query(&action, READ, &[&kind.name(), &name]).await?;
        let row = |row: &Row| {
            let settings = column::<Option<&[u8]>>(row, 3)?;
            let settings =
                settings.map(|bytes| String::from_utf8(bytes.to_vec())).transpose().map_err(|_| damaged())?;
            let (version, stamp, digest) = (column(row, 0)?, column(row, 1)?, column(row, 2)?);
            Ok(PluginRow { version, stamp, digest, settings, host: text(row, 4)?, base: column(row, 5)? })
        };
        rows.first().map(row).transpose()
    }

    /// The bytes of a file, as they are in the database: the caller compares their digest. `None`: there are none, or more
    /// than `most`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
    pub async fn file(&self, digest: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        let rows = self.database.query("read the file of a plugin", FILE, &[&digest, &most]).await?;
        rows.first().map(|row| column(row, 0)).transpose()
    }

    /// Stores a file under its digest, unless it is there with these bytes. Returns whether it was not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn add_file(&self, digest: &str, bytes: &[u8]) -> Result<bool> {
        let action = "store the file of a plugin";
        // Most often it is there, and its bytes need not be sent.
        if self.database.write(action, HAS_FILE, &[&digest], true).await?.is_empty() {
            self.database.write(action, ADD_FILE, &[&digest, &bytes], true).await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Writes a row: the last write wins, and says what it replaced.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn put(&self, new: NewPlugin<'_>) -> Result<Written> {
        let NewPlugin { kind, name, digest, settings, host, base } = new;
        let action = format!("store plugin `{name}`");
        let settings = settings.map(str::as_bytes);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
            [&kind.name(), &name, &digest, &settings, &host.as_bytes(), &base];
        let rows = self.database.write(&action, WRITE, &values, true).await?;
        let row = rows.first().ok_or_else(damaged)?;
        let replaced = match (column(row, 2)?, column(row, 3)?, column::<Option<&[u8]>>(row, 4)?) {
            (Some(stamp), Some(version), Some(host)) => {
                Some((stamp, version, String::from_utf8_lossy(host).into_owned()))
            }
            _ => None,
        };
        Ok(Written { version: column(row, 0)?, stamp: column(row, 1)?, replaced })
    }

    /// Removes files that no row names.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn sweep(&self) -> Result<()> {
        self.database.write("remove files of plugins", SWEEP, &[], true).await.map(drop)
    }
}
