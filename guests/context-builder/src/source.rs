//! The source of entries: an abstraction of the host's view.

use crate::RECALL;
use bub_guest::View;
use bub_guest::recall::{Answer, Options};
use bub_guest::tape::{Entry, Query, Start};
use bub_guest::{Error, ErrorKind};
use serde_json::Value;

pub trait Source {
    /// The newest entries of the window before `before`, oldest first.
    fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>, Error>;
    /// The first entry of the window.
    fn first(&self) -> Result<Option<Entry>, Error>;
    /// Runs a query beyond the window, on the tape or in a sidecar; `temporary` on a timeout.
    fn query(&self, sidecar: Option<&str>, query: &Query, max: u32, timeout_ms: u32) -> Result<Vec<Entry>, Error>;
    /// Retrieves from memory, notes and earlier conversations.
    fn recall(&self, question: &str, options: &Options) -> Result<Answer, Error>;
}

impl Source for View {
    fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>, Error> {
        View::tail(self, before, max)
    }

    fn first(&self) -> Result<Option<Entry>, Error> {
        Ok(self.next(1)?.pop())
    }

    fn query(&self, sidecar: Option<&str>, query: &Query, max: u32, timeout_ms: u32) -> Result<Vec<Entry>, Error> {
        View::query(self, sidecar, query, max, timeout_ms)
    }

    fn recall(&self, question: &str, options: &Options) -> Result<Answer, Error> {
        RECALL.search(self, question, options)
    }
}

/// The timeout of optional lookups, in milliseconds.
pub const QUERY_TIMEOUT: u32 = 500;

/// Events, newest first, at most `limit`.
pub fn newest_events(name: &str, limit: u32) -> Query {
    Query { name: Some(name.to_owned()), newest_first: true, limit: Some(limit), ..events(Start::First) }
}

/// Events from that start on.
pub fn events(start: Start) -> Query {
    Query { start, kinds: vec!["event".to_owned()], ..Query::default() }
}

/// The data of the newest event of that name that this plugin could have written.
pub fn newest(source: &dyn Source, sidecar: Option<&str>, name: &str) -> Result<Option<Value>, Error> {
    let found = match source.query(sidecar, &newest_events(name, 1), 1, QUERY_TIMEOUT) {
        // There is no sidecar yet, or no grant for it.
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Denied) => return Ok(None),
        found => found?,
    };
    Ok(found.first().and_then(data))
}

/// The id of the newest event of that name on the tape.
pub fn newest_id(source: &dyn Source, name: &str) -> Result<Option<u64>, Error> {
    Ok(source.query(None, &newest_events(name, 1), 1, QUERY_TIMEOUT)?.first().map(|entry| entry.id))
}

/// The data of an event.
pub fn data(entry: &Entry) -> Option<Value> {
    serde_json::from_str::<Value>(&entry.payload).ok()?.get("data").cloned()
}
