//! Breakers of plugins: a row for each hook of each digest, changed by comparing its version.

use bub_tape::Result;

use super::database::Database;
use super::store::damaged;
use super::usage::column;

/// The most rows that are read, the ones with the latest faults.
const MAX_ROWS: i64 = 256;

const READ: &str = "SELECT extract(epoch FROM clock_timestamp())::double precision, b.digest, b.hook, b.version, b.state \
                    FROM (SELECT 1) one LEFT JOIN (SELECT * FROM breaker ORDER BY at DESC LIMIT $1) b ON true";

const READ_ONE: &str = "SELECT version, state FROM breaker WHERE digest = $1 AND hook = $2";

/// Rows whose last fault was a week ago are removed.
const INSERT: &str = "WITH gone AS (DELETE FROM breaker WHERE at < clock_timestamp() - interval '7 days') \
                      INSERT INTO breaker (digest, hook, state) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING \
                      RETURNING version";

const UPDATE: &str = "UPDATE breaker SET state = $3, version = nextval('breaker_version'), at = clock_timestamp() \
                      WHERE digest = $1 AND hook = $2 AND version = $4 RETURNING version";

const DELETE: &str = "DELETE FROM breaker WHERE digest = $1 AND hook = $2 AND version = $3 RETURNING version";

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerRow {
    /// SHA-256 of the plugin's bytes.
    pub digest: String,
    /// The hook.
    pub hook: String,
    /// Changes with each write.
    pub version: i64,
    /// The state, as it was written.
    pub state: Vec<u8>,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// It was written as this version; `None`: the row is gone.
    Done(Option<i64>),
    /// Another worker has changed the row.
    Changed,
}

/// The table of breakers.
#[derive(Clone)]
pub struct BreakerTable {
    database: Database,
}

impl BreakerTable {
    /// The table in that database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// The database's address, without a password.
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// The rows, and the database's time in seconds since 1970.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
    pub async fn read(&self) -> Result<(f64, Vec<BreakerRow>)> {
        let rows = self.database.query("read which plugins are in quarantine", READ, &[&MAX_ROWS]).await?;
        let now = rows.first().map(|row| column(row, 0)).ok_or_else(damaged)??;
        let found = |row| {
            let Some(digest) = column::<Option<String>>(row, 1)? else { return Ok(None) };
            let (hook, version, state) = (column(row, 2)?, column(row, 3)?, column(row, 4)?);
            Ok(Some(BreakerRow { digest, hook, version, state }))
        };
        let rows = rows.iter().filter_map(|row| found(row).transpose()).collect::<Result<_>>()?;
        Ok((now, rows))
    }

    /// One row.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
    pub async fn get(&self, digest: &str, hook: &str) -> Result<Option<BreakerRow>> {
        let rows = self.database.query("read whether a plugin is in quarantine", READ_ONE, &[&digest, &hook]).await?;
        let row = |row| {
            let (version, state) = (column(row, 0)?, column(row, 1)?);
            Ok(BreakerRow { digest: digest.to_owned(), hook: hook.to_owned(), version, state })
        };
        rows.first().map(row).transpose()
    }

    /// Replaces the row that had the version `before`, where `None` is a row that was missing; without a `state` it is
    /// removed. One statement, which locks the row.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn swap(&self, digest: &str, hook: &str, before: Option<i64>, state: Option<&[u8]>) -> Result<Swap> {
        let action = "write down which plugin is in quarantine";
        let rows = match (before, state) {
            (None, None) => return Ok(Swap::Done(None)),
            (None, Some(state)) => self.database.write(action, INSERT, &[&digest, &hook, &state], false).await?,
            (Some(before), Some(state)) => {
                self.database.write(action, UPDATE, &[&digest, &hook, &state, &before], false).await?
            }
            (Some(before), None) => self.database.write(action, DELETE, &[&digest, &hook, &before], false).await?,
        };
        let Some(row) = rows.first() else { return Ok(Swap::Changed) };
        Ok(Swap::Done(state.is_some().then(|| column(row, 0)).transpose()?))
    }
}
