//! Turns that run at other workers.

use super::rows::bytes;
use super::{Result, SharedInbox};
use anyhow::Context;
use bub_postgres::Row;
use jiff::Timestamp;
use std::time::SystemTime;

/// The most turns that are listed.
const MAX_TURNS: i64 = 1000;

/// A turn that runs at another worker.
#[derive(Debug, Clone)]
pub struct ElsewhereTurn {
    /// Its session.
    pub session_id: String,
    /// When its first message was accepted.
    pub since: Timestamp,
    /// The name of the worker.
    pub worker: String,
}

impl SharedInbox {
    /// The turns of listed sessions that run at other workers, those that wait longest first.
    pub(crate) async fn running_elsewhere(&self) -> Result<Vec<ElsewhereTurn>> {
        let statement = "SELECT s.id, min(m.accepted) AS since, min(m.worker) FROM message m \
                         JOIN session s ON s.tape = m.tape \
                         WHERE m.state = 1 AND m.worker <> $1 GROUP BY s.id ORDER BY since LIMIT $2";
        let rows = self.rows(statement, &[&self.worker.current().name(), &MAX_TURNS]).await?;
        let turn = |row: &Row| {
            let since: SystemTime = row.try_get(1)?;
            Ok(ElsewhereTurn {
                session_id: bytes(row, 0)?,
                since: Timestamp::try_from(since).context("a date in the database is invalid")?,
                worker: row.try_get(2)?,
            })
        };
        rows.iter().map(turn).collect()
    }
}
