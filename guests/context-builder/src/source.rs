//! Where entries come from: the view that the host lends, behind what the selection needs of it.

use crate::bub::context::recall::{self, Answer, Options};
use crate::bub::context::view::View;
use crate::bub::tape::entries::{Entry, Query, Start};
use crate::{Error, ErrorKind};
use serde_json::Value;

pub trait Source {
    /// The newest entries of the window before `before`, oldest first.
    fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>, Error>;
    /// The first entry of the window.
    fn first(&self) -> Result<Option<Entry>, Error>;
    /// What a query finds beyond the window, on the tape or in a sidecar; `temporary` when it is not there in time.
    fn query(&self, sidecar: Option<&str>, query: &Query, max: u32, timeout_ms: u32) -> Result<Vec<Entry>, Error>;
    /// What memory, notes and earlier conversations know of a question.
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
        recall::search(self, question, options)
    }
}

/// For what is looked up in passing, in milliseconds.
pub const PATIENCE: u32 = 500;

/// Events, the newest first, as many as `limit`.
pub fn newest_events(name: &str, limit: u32) -> Query {
    Query { name: Some(name.to_owned()), newest_first: true, limit: Some(limit), ..events(Start::First) }
}

/// Events from there on.
pub fn events(start: Start) -> Query {
    Query {
        start,
        kinds: vec!["event".to_owned()],
        name: None,
        text: None,
        since: None,
        until: None,
        newest_first: false,
        limit: None,
    }
}

/// The data of the newest event of that name that this plugin could have written.
pub fn newest(source: &dyn Source, sidecar: Option<&str>, name: &str) -> Result<Option<Value>, Error> {
    let found = match source.query(sidecar, &newest_events(name, 1), 1, PATIENCE) {
        // There is no sidecar yet, or this plugin may have none.
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Denied) => return Ok(None),
        found => found?,
    };
    Ok(found.first().and_then(data))
}

/// The id of the newest event of that name on the tape.
pub fn newest_id(source: &dyn Source, name: &str) -> Result<Option<u64>, Error> {
    Ok(source.query(None, &newest_events(name, 1), 1, PATIENCE)?.first().map(|entry| entry.id))
}

/// What an event says.
pub fn data(entry: &Entry) -> Option<Value> {
    serde_json::from_str::<Value>(&entry.payload).ok()?.get("data").cloned()
}
