//! Pages of a tape, bounded in entries and bytes.

use super::super::ApiError;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_tape::{Condition, Entry, Store, find_candidates};
use serde_json::Value;
use serde_json::value::RawValue;

/// Entries of one page.
pub(super) const MAX_ENTRIES: usize = 256;

/// Bytes of one page, unless one entry alone is longer.
const MAX_BYTES: usize = 4 << 20;

/// Entries that are read at once, so that little is read in vain from a tape of long entries.
const READ_STEP: usize = 32;

/// Kinds of one request.
const MAX_KINDS: usize = 32;

/// Steps of one request for kinds. A step examines a few thousand entries at most.
const MAX_STEPS: usize = 64;

/// Which entries: those after an id, or the newest ones, before an id; of some kinds.
#[derive(Debug, Clone, serde::Deserialize)]
pub(crate) struct Range {
    after: Option<u64>,
    before: Option<u64>,
    max: Option<usize>,
    /// Separated by commas.
    kind: Option<String>,
}

/// Entries, oldest first.
pub(crate) struct Page {
    pub entries: Vec<Entry>,
    /// The id behind which the next page begins, in the same direction; `None`: this was the last one.
    pub next: Option<u64>,
}

impl Range {
    /// # Errors
    ///
    /// Both ends were given, or the tape cannot be read.
    pub(crate) async fn read(self, store: &dyn Store, tape: &str) -> Result<Page, ApiError> {
        if self.after.is_some() && self.before.is_some() {
            return Err(ApiError::bad_request("`after` or `before`, not both"));
        }
        let kinds = self.kind.iter().flat_map(|kinds| kinds.split(',')).filter(|kind| !kind.is_empty());
        let kinds: Vec<String> = kinds.map(str::to_owned).collect();
        if kinds.len() > MAX_KINDS {
            return Err(ApiError::bad_request(format!("`kind` takes {MAX_KINDS} kinds, not {}", kinds.len())));
        }
        let max = self.max.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
        let mut page = PageBuilder { max, bytes: 0, entries: Vec::new() };
        let next = match kinds.is_empty() {
            true => self.read_all(store, tape, &mut page).await?,
            false => self.read_kinds(store, tape, kinds, &mut page).await?,
        };
        let mut entries = page.entries;
        if self.after.is_none() {
            entries.reverse();
        }
        Ok(Page { entries, next: next.filter(|_| max > 0) })
    }

    async fn read_all(&self, store: &dyn Store, tape: &str, page: &mut PageBuilder) -> Result<Option<u64>, ApiError> {
        loop {
            // One entry more than requested shows whether there are more.
            let step = READ_STEP.min(page.max + 1 - page.entries.len());
            let last = page.entries.last().map(|entry| entry.id);
            let found = match self.after {
                Some(after) => store.read(tape, last.unwrap_or(after), step).await?,
                None => {
                    let mut tail = store.tail(tape, last.or(self.before), step).await?;
                    tail.reverse();
                    tail
                }
            };
            let is_end = found.len() < step;
            for entry in found {
                if !page.push(entry) {
                    return Ok(page.last());
                }
            }
            if is_end {
                return Ok(None);
            }
        }
    }

    async fn read_kinds(
        &self,
        store: &dyn Store,
        tape: &str,
        kinds: Vec<String>,
        page: &mut PageBuilder,
    ) -> Result<Option<u64>, ApiError> {
        let newest_first = self.after.is_none();
        let (after, before) = (self.after.unwrap_or_default(), self.before);
        let mut condition = Condition { after, before, kinds, newest_first, ..Condition::default() };
        let mut next = None;
        for _ in 0..MAX_STEPS {
            let found = find_candidates(store, tape, &condition, page.max + 1 - page.entries.len()).await?;
            for entry in found.entries {
                if condition.kinds.iter().any(|kind| entry.is(kind)) && !page.push(entry) {
                    return Ok(page.last());
                }
            }
            let Some(seen) = found.next else { return Ok(None) };
            next = Some(seen);
            match newest_first {
                true => condition.before = next,
                false => condition.after = seen,
            }
        }
        Ok(next)
    }
}

/// A page while it is read.
struct PageBuilder {
    max: usize,
    bytes: usize,
    entries: Vec<Entry>,
}

impl PageBuilder {
    /// Adds an entry. `false`: it does not fit any more.
    fn push(&mut self, entry: Entry) -> bool {
        self.bytes += entry.payload.len() + entry.meta.len() + 128;
        if self.entries.len() == self.max || (self.bytes > MAX_BYTES && !self.entries.is_empty()) {
            return false;
        }
        self.entries.push(entry);
        true
    }

    /// The id of the entry that was added last. Without any, the page is one of no entries.
    fn last(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.id)
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
