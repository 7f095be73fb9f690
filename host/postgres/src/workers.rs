//! The processes that serve: each says now and then that it is there, and which plugins it has loaded.

use std::time::Duration;

use bub_tape::Result;
use tokio_postgres::Row;

use super::database::Database;
use super::usage::{column, random_id, text};

/// Rows of processes that have said nothing for a day are removed.
const FORGET: &str = "WITH gone AS (DELETE FROM worker WHERE seen < clock_timestamp() - interval '1 day') \
                      INSERT INTO worker AS w (id, host, program, plugins) VALUES ($1, $2, $3, $4) \
                      ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp(), plugins = excluded.plugins";

/// Both durations are measured at one moment, so that nothing was heard of before it started.
const LIST: &str = "SELECT host, program, extract(epoch FROM statement_timestamp() - started)::double precision, \
                    extract(epoch FROM statement_timestamp() - seen)::double precision, plugins FROM worker \
                    ORDER BY started, id";

const REMOVE: &str = "DELETE FROM worker WHERE id = $1";

/// A process that serves, or did so within the last day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// The name of its machine.
    pub host: String,
    /// The version of the program.
    pub program: String,
    /// How long ago it started.
    pub started: Duration,
    /// How long ago it was heard of: every 10 seconds, while it serves.
    pub seen: Duration,
    /// The digests of its plugins by name, as JSON.
    pub plugins: String,
}

/// The row of one process.
pub struct WorkerTable {
    database: Database,
    id: [u8; 16],
}

impl WorkerTable {
    /// A row for this process, which is not written yet.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the system has no random numbers.
    pub fn new(database: Database) -> Result<Self> {
        Ok(Self { database, id: random_id()? })
    }

    /// Writes the row.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn report(&self, host: &str, program: &str, plugins: &str) -> Result<()> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&self.id.as_slice(), &host.as_bytes(), &program, &plugins.as_bytes()];
        self.database.write("report this worker", FORGET, &values, true).await.map(drop)
    }

    /// Removes the row, when the process ends.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
    pub async fn remove(&self) -> Result<()> {
        self.database.write("report the end of this worker", REMOVE, &[&self.id.as_slice()], true).await.map(drop)
    }
}

/// The processes that serve, in the order in which they started.
///
/// # Errors
///
/// [`Error::Io`](bub_tape::Error::Io) if the database does not answer.
pub async fn workers(database: &Database) -> Result<Vec<Worker>> {
    let rows = database.query("list the workers", LIST, &[]).await?;
    let seconds = |row: &Row, index| Ok(Duration::try_from_secs_f64(column(row, index)?).unwrap_or_default());
    let worker = |row: &Row| {
        let (host, program, plugins) = (text(row, 0)?, column(row, 1)?, text(row, 4)?);
        Ok(Worker { host, program, started: seconds(row, 2)?, seen: seconds(row, 3)?, plugins })
    };
    rows.iter().map(worker).collect()
}
