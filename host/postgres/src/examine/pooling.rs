//! Whether a pooler gives one connection to several clients.

use std::time::Duration;

use bub_tape::Result;
use tokio_postgres::SimpleQueryMessage;

use crate::database::{Database, Exclusive};
use crate::fault::{failed, silent};

/// How long a statement that reads nothing may take, unless it waits for a connection of the pooler's.
const WAIT: Duration = Duration::from_secs(3);

/// How connections of this program and those of the server belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Each to one: there is no pooler, or one that gives a connection to a client for its session.
    Sessions,
    /// A pooler gives connections to clients for a transaction.
    Transactions {
        /// Whether statements that were prepared on one connection are there on another; `None`: it was not found out.
        keeps_statements: Option<bool>,
    },
}

/// A pooler by transactions gives the connection that was used last to the next client: the second client of two gets that
/// of the first, and while it holds it, the first gets another.
pub(super) async fn find(database: &Database, action: &str) -> Result<Pooling> {
    let (first, second) = (database.connection(action).await?, database.connection(action).await?);
    let prepared = tokio::time::timeout(WAIT, first.prepare("SELECT pg_backend_pid()")).await;
    let prepared = prepared.map_err(|_| silent(action))?.map_err(failed(action))?;
    let mut is_shared = false;
    for _ in 0..3 {
        let before = backend(&first, "SELECT pg_backend_pid()").await;
        let held = backend(&second, "BEGIN; SELECT pg_backend_pid()").await;
        let after = backend(&first, "SELECT pg_backend_pid()").await;
        let (Some(before), Some(held), Some(after)) = (before, held, after) else {
            // The first waits for the second: both use one connection. They are closed.
            return Ok(Pooling::Transactions { keeps_statements: None });
        };
        is_shared |= before == held || before != after;
        if is_shared {
            // The second still holds the connection on which the statement was prepared.
            let repeated = tokio::time::timeout(WAIT, first.query(&prepared, &[])).await;
            let keeps_statements = repeated.ok().map(|repeated| repeated.is_ok());
            return Ok(Pooling::Transactions { keeps_statements });
        }
        let _ended = tokio::time::timeout(WAIT, second.batch_execute("ROLLBACK")).await;
    }
    Ok(Pooling::Sessions)
}

/// The server's process behind a connection.
async fn backend(connection: &Exclusive, query: &str) -> Option<String> {
    let messages = tokio::time::timeout(WAIT, connection.simple_query(query)).await.ok()?.ok()?;
    messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}
