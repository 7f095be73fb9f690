//! Transactions of several statements.

use std::ops::Deref;

use bub_tape::{Error, Result};

use super::database::{ATTEMPTS, Database, Exclusive, SILENCE};
use super::fault::{failed, is_collision, is_lost, silent};
use super::lease::Fence;

/// The isolation by name: after a lock was waited for, a stricter one would not see what its last owner wrote.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Tries one transaction until no other one collides with it:
///
/// ```text
/// let mut attempts = Attempts::new(&database, &action);
/// loop {
///     let transaction = attempts.begin().await?;
///     let done = within(statements(&transaction)).await;
///     if let Some(done) = attempts.end(transaction, done).await? {
///         return Ok(done);
///     }
/// }
/// ```
pub(crate) struct Attempts<'d> {
    database: &'d Database,
    action: &'d str,
    count: usize,
}

/// A connection on which a transaction has begun. Dropped before its end, the connection is closed, which rolls back.
pub(crate) struct Transaction {
    connection: Exclusive,
}

/// Why a transaction is rolled back.
pub(crate) enum Failed {
    /// The rules of tapes forbid it.
    Tape(Error),
    Database(tokio_postgres::Error),
    /// It took too long.
    Late,
}

impl<'d> Attempts<'d> {
    pub(crate) fn new(database: &'d Database, action: &'d str) -> Self {
        Self { database, action, count: 0 }
    }

    pub(crate) async fn begin(&mut self) -> Result<Transaction> {
        self.count += 1;
        let mut tries = 0;
        loop {
            tries += 1;
            // From here on it is closed unless it ends, even if this future is dropped while the server begins.
            let transaction = Transaction { connection: self.database.connection(self.action).await? };
            match tokio::time::timeout(SILENCE, transaction.batch_execute(BEGIN)).await {
                Ok(Ok(())) => return Ok(transaction),
                // An idle connection ended unnoticed. Nothing has begun.
                Ok(Err(error)) if is_lost(&error) && tries < ATTEMPTS => self.database.close_idle(),
                Ok(Err(error)) => return Err(failed(self.action)(error)),
                Err(_) => return Err(silent(self.action)),
            }
        }
    }

    /// Commits or rolls back; `None`: another transaction collided with it, and it has to begin again.
    pub(crate) async fn end<T>(
        &mut self,
        transaction: Transaction,
        done: std::result::Result<T, Failed>,
    ) -> Result<Option<T>> {
        let ending = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        if matches!(done, Err(Failed::Late)) {
            return Err(silent(self.action));
        }
        let ended = tokio::time::timeout(SILENCE, transaction.batch_execute(ending)).await;
        let ended = ended.map_err(|_| silent(self.action))?;
        if ended.is_ok() {
            // Nothing is open on it, so it can be used again.
            transaction.connection.give_back();
        }
        match (done, ended) {
            (Ok(done), Ok(())) => Ok(Some(done)),
            (Ok(_), Err(error)) | (Err(Failed::Database(error)), _) => {
                if self.count < ATTEMPTS && is_collision(&error) {
                    return Ok(None);
                }
                Err(failed(self.action)(error))
            }
            (Err(Failed::Tape(error)), _) => Err(error),
            (Err(Failed::Late), _) => Err(silent(self.action)),
        }
    }
}

impl Transaction {
    /// Locks the row of a lease until the end of the transaction, so that no worker can claim it before. Its holder can renew
    /// it meanwhile.
    pub(crate) async fn check(&self, fence: Option<&Fence>) -> std::result::Result<(), Failed> {
        let Some(fence) = fence else { return Ok(()) };
        let statement = "SELECT 1 FROM lease WHERE name = $1 AND epoch = $2 AND owner = $3 \
                         AND until IS NOT NULL FOR KEY SHARE";
        let Fence { name, epoch, owner } = fence;
        match self.query_opt(statement, &[name, epoch, &owner.as_slice()]).await? {
            Some(_) => Ok(()),
            None => Err(fence.lost().into()),
        }
    }
}

/// Bounds the time of a transaction's statements.
pub(crate) async fn within<T>(
    statements: impl Future<Output = std::result::Result<T, Failed>>,
) -> std::result::Result<T, Failed> {
    tokio::time::timeout(SILENCE, statements).await.unwrap_or(Err(Failed::Late))
}

impl Deref for Transaction {
    type Target = tokio_postgres::Client;

    fn deref(&self) -> &Self::Target {
        &self.connection
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Tape(error)
    }
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}
