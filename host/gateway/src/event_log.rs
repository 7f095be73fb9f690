//! Events with cursors, so that a reader that was cut off goes on where it was, at any worker.
//!
//! One process keeps the newest in memory. Workers of a database write theirs to a table, a batch at a time and behind the
//! turns, and read from there.

mod json;
mod local;
mod shared;

use anyhow::Result;
use bub_runtime::host::EventBus;
use local::Ring;
use shared::Table;
use std::sync::Arc;

/// Events that are kept for readers that come back.
const KEPT: usize = 4096;

/// Events of one read.
const MAX_READ: usize = 256;

/// An event as readers get it.
#[derive(Debug, Clone)]
pub struct LoggedEvent {
    /// Its position: a reader that has it goes on behind it.
    pub cursor: i64,
    /// The session; empty where the event has none.
    pub session: String,
    /// Its name.
    pub name: String,
    /// Its data, as JSON.
    pub data: String,
}

/// The events that a reader gets next.
#[derive(Debug)]
pub struct Batch {
    /// The number of events before these that are not kept any more; `None`: unknown, and some may be.
    pub missed: Option<u64>,
    /// Events, in order.
    pub events: Vec<LoggedEvent>,
}

impl Batch {
    /// At most so many of the newest events; those before them are missed.
    fn newest(mut self, max: usize) -> Self {
        let skipped = self.events.len().saturating_sub(max);
        self.events.drain(..skipped);
        Self { missed: self.missed.map(|missed| missed + skipped as u64), ..self }
    }
}

/// The events of a gateway.
#[derive(Clone)]
pub(crate) enum EventLog {
    Local(Arc<Ring>),
    Shared(Arc<Table>),
}

/// Reads events from a cursor on.
pub struct EventReader {
    log: EventLog,
    cursor: i64,
}

impl EventReader {
    /// Waits for the next events. Cancel safe. With `newest`, at most so many of the newest are returned, and those before
    /// them are missed.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read. The reader can be asked again.
    pub async fn next(&mut self, newest: Option<usize>) -> Result<Batch> {
        let (batch, cursor) = match &self.log {
            EventLog::Local(ring) => ring.after(self.cursor, newest).await,
            EventLog::Shared(table) => {
                let (batch, cursor) = table.after(self.cursor).await?;
                (batch.newest(newest.unwrap_or(usize::MAX)), cursor)
            }
        };
        self.cursor = cursor;
        Ok(batch)
    }
}

impl EventLog {
    /// Starts to log the events of a bus.
    pub(crate) fn fill(&self, bus: &EventBus) {
        match self {
            Self::Local(ring) => drop(tokio::spawn(Arc::clone(ring).fill(bus.subscribe()))),
            Self::Shared(table) => drop(tokio::spawn(Arc::clone(table).fill(bus.subscribe()))),
        }
    }

    /// A reader of the events after a cursor, or of those from now on.
    pub(crate) async fn read(&self, after: Option<i64>) -> Result<EventReader> {
        let cursor = match (after, self) {
            (Some(after), _) => after,
            (None, Self::Local(ring)) => ring.last(),
            (None, Self::Shared(table)) => table.last().await?,
        };
        Ok(EventReader { log: self.clone(), cursor })
    }

    pub(crate) fn local() -> Self {
        Self::Local(Arc::default())
    }

    pub(crate) fn shared(database: &bub_postgres::Database) -> Self {
        Self::Shared(Arc::new(Table::new(database.clone())))
    }
}
