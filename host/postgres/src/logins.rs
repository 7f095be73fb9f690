//! One-time codes and cookies of browsers, by their digests. Their records have a meaning elsewhere.

use bub_tape::Result;

use super::database::Database;
use super::usage::column;

const PUT: &str = "WITH gone AS (DELETE FROM login WHERE until < clock_timestamp()) \
                   INSERT INTO login (digest, record, until) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second') \
                   ON CONFLICT (digest) DO NOTHING";

const GET: &str = "SELECT record FROM login WHERE digest = $1 AND until > clock_timestamp()";

const TAKE: &str = "DELETE FROM login WHERE digest = $1 RETURNING record, until > clock_timestamp()";

/// The table.
#[derive(Clone)]
pub struct LoginTable {
    database: Database,
}

impl LoginTable {
    /// The table in that database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// Adds a record that lasts for so many seconds.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn put(&self, digest: &str, record: &[u8], seconds: i64) -> Result<()> {
        self.database.write("write a login", PUT, &[&digest, &record, &(seconds as f64)], true).await.map(drop)
    }

    /// The record, unless it has expired.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
    pub async fn get(&self, digest: &str) -> Result<Option<Vec<u8>>> {
        let rows = self.database.query("read a login", GET, &[&digest]).await?;
        rows.first().map(|row| column(row, 0)).transpose()
    }

    /// Removes the record, and returns it unless it has expired. Of two calls one gets it, and none if an answer is lost.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn take(&self, digest: &str) -> Result<Option<Vec<u8>>> {
        let rows = self.database.write("use up a login", TAKE, &[&digest], false).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        column::<bool>(row, 1)?.then(|| column(row, 0)).transpose()
    }
}
