//! A stretch of a tape: so many entries, and so many bytes.

use super::super::Problem;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_tape::{Entry, Store};
use serde_json::Value;
use serde_json::value::RawValue;

/// Entries of one answer.
pub(super) const MOST: usize = 256;

/// Bytes of one answer, unless one entry alone is longer.
const BYTES: usize = 4 << 20;

/// Entries that are fetched at once: of a tape of long ones little is read that is not told.
const STEP: usize = 32;

/// Which stretch: behind an id, or else the newest, those before an id.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub(crate) struct Range {
    after: Option<u64>,
    before: Option<u64>,
    max: Option<usize>,
}

/// Entries, oldest first.
pub(crate) struct Page {
    pub entries: Vec<Entry>,
    /// There are further ones in the direction that was asked for.
    pub has_more: bool,
}

impl Range {
    /// # Errors
    ///
    /// Both ends were asked for, or the tape cannot be read.
    pub async fn read(self, store: &dyn Store, tape: &str) -> Result<Page, Problem> {
        if self.after.is_some() && self.before.is_some() {
            return Err(Problem::bad("`after` or `before`, not both"));
        }
        let most = self.max.unwrap_or(MOST).min(MOST);
        let (mut entries, mut bytes, mut has_more) = (Vec::<Entry>::new(), 0, false);
        'all: loop {
            // One more than are wanted tells whether there are more.
            let step = STEP.min(most + 1 - entries.len());
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
                if entries.len() == most || (bytes > BYTES && !entries.is_empty()) {
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
        Ok(Page { entries, has_more: has_more && most > 0 })
    }
}

/// Entries as JSON. They are JSON in Python's sense, which has numbers that others cannot read; where one has them, what is
/// told in place of it is its line, as text.
pub(super) fn as_json<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Box<RawValue>> {
    entries.into_iter().map(entry).collect()
}

pub(super) fn entry(entry: &Entry) -> Box<RawValue> {
    let line = entry.line();
    RawValue::from_string(line).unwrap_or_else(|_| {
        let told =
            serde_json::json!({ "id": entry.id, "kind": *entry.kind, "date": *entry.date, "line": entry.line() });
        raw(&told)
    })
}

pub(super) fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_default()
}

/// Entries as lines, as they stand on the tape.
pub(super) fn as_lines(entries: &[Entry]) -> Response {
    let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
    ([(header::CONTENT_TYPE, "application/jsonl")], lines).into_response()
}
