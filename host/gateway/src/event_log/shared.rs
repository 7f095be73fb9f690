//! The events of all workers, in a table.

use super::json::to_json;
use super::{Batch, KEPT, LoggedEvent, MAX_READ};
use anyhow::{Context, Result};
use bub_postgres::{Database, Row};
use bub_runtime::host::{EventRecord, Subscriber};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How long events are collected, and how often a reader looks for those of other workers.
const INTERVAL: Duration = Duration::from_millis(250);

/// Events of one write.
const MAX_WRITE: usize = 1024;

const WRITE: &str = "write the events of `serve`";
const READ: &str = "read the events of `serve`";

/// The table of events.
pub(crate) struct Table {
    database: Database,
    /// Notified when this worker has written events.
    written: Notify,
}

impl Table {
    pub(super) fn new(database: Database) -> Self {
        Self { database, written: Notify::new() }
    }

    /// Writes all events from now on. Never ends.
    pub(super) async fn fill(self: Arc<Self>, mut subscriber: Subscriber) {
        loop {
            let Ok(first) = subscriber.next().await else { continue };
            let mut batch = vec![first];
            let collected = async {
                while batch.len() < MAX_WRITE {
                    if let Ok(record) = subscriber.next().await {
                        batch.push(record);
                    }
                }
            };
            let _full = timeout(INTERVAL, collected).await;
            if let Err(error) = self.write(&batch).await {
                let count = batch.len();
                tracing::warn!("{count} events are not seen by readers of `/v1/events`: {error:#}");
            }
            self.written.notify_waiters();
        }
    }

    async fn write(&self, batch: &[EventRecord]) -> Result<()> {
        let sessions: Vec<&[u8]> = batch.iter().map(|record| record.session.as_bytes()).collect();
        let (names, data): (Vec<&str>, Vec<Vec<u8>>) = batch
            .iter()
            .map(|record| {
                let (name, data) = to_json(record);
                (name, data.to_string().into_bytes())
            })
            .unzip();
        let kept = i64::try_from(KEPT).unwrap_or(i64::MAX);
        // Repeated, they would be seen twice.
        self.database
            .write(WRITE, "SELECT log_events_1($1, $2, $3, $4)", &[&sessions, &names, &data, &kept], false)
            .await?;
        Ok(())
    }

    pub(super) async fn last(&self) -> Result<i64> {
        let rows = self.database.query(READ, "SELECT coalesce(max(id), 0) FROM event", &[]).await?;
        Ok(rows.first().context("the database returned no row")?.try_get(0)?)
    }

    /// Waits for events after a cursor, and returns them with the new cursor.
    pub(super) async fn after(&self, cursor: i64) -> Result<(Batch, i64)> {
        let statement = "SELECT id, session, name, data, (SELECT min(id) FROM event) FROM event WHERE id > $1 \
                         ORDER BY id LIMIT $2";
        let max = i64::try_from(MAX_READ).unwrap_or(i64::MAX);
        loop {
            let written = self.written.notified();
            let rows = self.database.query(READ, statement, &[&cursor, &max]).await?;
            let Some(last) = rows.last() else {
                tokio::select! {
                    () = written => {}
                    () = sleep(INTERVAL) => {}
                }
                continue;
            };
            let end = last.try_get(0)?;
            let oldest: i64 = last.try_get(4)?;
            let missed = u64::try_from(oldest - 1 - cursor).unwrap_or_default();
            let events = rows.iter().map(event).collect::<Result<_>>()?;
            return Ok((Batch { missed: Some(missed), events }, end));
        }
    }
}

fn event(row: &Row) -> Result<LoggedEvent> {
    let text = |column: usize| -> Result<String> {
        Ok(String::from_utf8_lossy(row.try_get::<_, &[u8]>(column)?).into_owned())
    };
    Ok(LoggedEvent { cursor: row.try_get(0)?, session: text(1)?, name: row.try_get(2)?, data: text(3)? })
}
