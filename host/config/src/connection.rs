//! The connection to the database of the tapes: made once, whatever of the program needs it first.

use super::Config;
use super::tapes::TapeStorage;
use anyhow::Result;
use bub_postgres::Database;
use parking_lot::Mutex;
use std::fmt::{self, Debug, Formatter};

/// A connection, or none yet.
#[derive(Default)]
pub(super) struct Connection(Mutex<Option<Database>>);

impl Debug for Connection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.lock().is_some() { "connected" } else { "not connected" })
    }
}

impl Config {
    /// The database of the tapes, connected; `None`: the tapes are not in PostgreSQL.
    ///
    /// # Errors
    ///
    /// It cannot be reached, or its password cannot be read.
    pub async fn connect(&self) -> Result<Option<Database>> {
        let TapeStorage::Postgres(address) = &self.tapes.storage else { return Ok(None) };
        let known = self.database.0.lock().clone();
        if known.is_some() {
            return Ok(known);
        }
        let database = Database::connect(self.database(address)?).await?;
        *self.database.0.lock() = Some(database.clone());
        Ok(Some(database))
    }

    /// This configuration with the connection of an earlier one, if that is to the same database.
    #[must_use]
    pub fn with_connection_of(self, earlier: &Self) -> Self {
        if self.tapes.storage == earlier.tapes.storage {
            let known = earlier.database.0.lock().clone();
            *self.database.0.lock() = known;
        }
        self
    }
}
