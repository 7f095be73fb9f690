//! The schema of a database that this program need not be able to use.

use bub_tape::Result;

use super::database::Database;
use super::migrations::{self, Status, VERSION, pending};
use super::settings::Settings;
use super::store::damaged;

/// The schema of a database, for its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaStatus {
    /// The schema that there is.
    pub found: Status,
    /// The version that this program makes and reads.
    pub reads: i32,
    /// Versions that `store migrate` would make, in order.
    pub pending: Vec<i32>,
    /// Whether a start of this program leaves the pending versions to `store migrate`.
    pub needs_consent: bool,
}

impl SchemaStatus {
    pub(crate) fn new(found: Status) -> Self {
        let needs_consent = migrations::needs_consent(found, &migrations::oldest());
        Self { found, reads: VERSION, pending: pending(found), needs_consent }
    }

    /// Whether this program can use the database, now or after its migration.
    pub fn is_usable(&self) -> bool {
        self.found.oldest <= self.reads
    }
}

/// Reads the schema and changes nothing.
///
/// # Errors
///
/// [`Error::Io`](bub_tape::Error::Io) if the database cannot be reached or read.
pub async fn schema(settings: Settings) -> Result<SchemaStatus> {
    let database = Database::unchecked(settings)?;
    Ok(SchemaStatus::new(migrations::status(&database).await?))
}

/// Makes or extends the schema, and returns it as it was before and as it is now.
///
/// # Errors
///
/// Those of [`migrations::migrate`].
pub async fn migrate(settings: Settings) -> Result<(SchemaStatus, SchemaStatus)> {
    let database = Database::unchecked(settings)?;
    let before = migrations::status(&database).await?;
    migrations::migrate(&database).await?;
    Ok((SchemaStatus::new(before), SchemaStatus::new(migrations::status(&database).await?)))
}

/// Names of leases that a process holds.
///
/// # Errors
///
/// [`Error::Io`](bub_tape::Error::Io) if the database cannot be reached or read.
pub async fn live_leases(settings: Settings) -> Result<Vec<String>> {
    let database = Database::unchecked(settings)?;
    if migrations::status(&database).await?.version == 0 {
        return Ok(Vec::new());
    }
    let action = format!("read the leases in `{}`", database.name());
    let statement = "SELECT name FROM lease WHERE until > clock_timestamp() ORDER BY name LIMIT 100";
    let rows = database.query(&action, statement, &[]).await?;
    rows.iter().map(|row| row.try_get(0).map_err(|_| damaged())).collect()
}

/// Tapes whose turn was interrupted, and whose journal is not on the tape yet.
///
/// # Errors
///
/// [`Error::Io`](bub_tape::Error::Io) if the database cannot be reached or read.
pub async fn interrupted_turns(settings: Settings) -> Result<Vec<String>> {
    let database = Database::unchecked(settings)?;
    // Version 2 has the table.
    if migrations::status(&database).await?.version < 2 {
        return Ok(Vec::new());
    }
    let action = format!("read the journals in `{}`", database.name());
    let statement = "SELECT DISTINCT substr(lease, length('session:') + 1) AS tape FROM journal ORDER BY tape";
    let rows = database.query(&action, statement, &[]).await?;
    rows.iter().map(|row| row.try_get(0).map_err(|_| damaged())).collect()
}
