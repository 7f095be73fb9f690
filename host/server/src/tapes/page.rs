//! Pages of a tape, bounded in entries and bytes.

use super::super::ApiError;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_tape::{Entry, Store};
use serde_json::Value;
use serde_json::value::RawValue;

/// Entries of one page.
pub(super) const MAX_ENTRIES: usize = 256;

/// Bytes of one page, unless one entry alone is longer.
const MAX_BYTES: usize = 4 << 20;

/// Entries that are read at once, so that little is read in vain from a tape of long entries.
const READ_STEP: usize = 32;

/// Which entries: those after an id, or the newest ones, before an id.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub(crate) struct Range {
    after: Option<u64>,
    before: Option<u64>,
    max: Option<usize>,
}

/// Entries, oldest first.
pub(crate) struct Page {
    pub entries: Vec<Entry>,
    /// Whether there are further ones in that direction.
    pub has_more: bool,
}

impl Range {
    /// # Errors
    ///
    /// Both ends were given, or the tape cannot be read.
    pub(crate) async fn read(self, store: &dyn Store, tape: &str) -> Result<Page, ApiError> {
        if self.after.is_some() && self.before.is_some() {
            return Err(ApiError::bad_request("`after` or `before`, not both"));
        }
        let max = self.max.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
        let (mut entries, mut bytes, mut has_more) = (Vec::<Entry>::new(), 0, false);
        'all: loop {
            // One entry more than requested shows whether there are more.
            let step = READ_STEP.min(max + 1 - entries.len());
            let last = entries.last().map(|entry| entry.id);
            let next = match self.after {
                Some(after) => store.read(tape, last.unwrap_or(after), step).await?,
                None => {
                    let mut tail = store.tail(tape, last.or(self.before), step).await?;
                    tail.reverse();
                    tail
                }
            };
            let is_end = next.len() < step;
            for entry in next {
                bytes += entry.payload.len() + entry.meta.len() + 128;
                if entries.len() == max || (bytes > MAX_BYTES && !entries.is_empty()) {
                    has_more = true;
                    break 'all;
                }
                entries.push(entry);
            }
            if is_end {
                break;
            }
        }
        if self.after.is_none() {
            entries.reverse();
        }
        Ok(Page { entries, has_more: has_more && max > 0 })
    }
}

/// Entries as JSON. Tapes hold Python's JSON, which allows NaN and infinities; an entry with one of them is sent as the
/// text of its line.
pub(super) fn to_json<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Box<RawValue>> {
    entries.into_iter().map(entry_to_json).collect()
}

pub(super) fn entry_to_json(entry: &Entry) -> Box<RawValue> {
    let line = entry.line();
    RawValue::from_string(line).unwrap_or_else(|_| {
        let value =
            serde_json::json!({ "id": entry.id, "kind": *entry.kind, "date": *entry.date, "line": entry.line() });
        to_raw(&value)
    })
}

pub(super) fn to_raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_default()
}

/// Entries as lines of JSON, as on the tape.
pub(super) fn to_lines(entries: &[Entry]) -> Response {
    let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
    ([(header::CONTENT_TYPE, "application/jsonl")], lines).into_response()
}
