//! Entries as rows.

use std::str;
use std::sync::Arc;

use bub_tape::{Draft, Entry, Error, Result};
use tokio_postgres::Row;

/// The columns that [`entry`] reads.
pub(super) const COLUMNS: &str = "e.id, e.kind, e.payload, e.meta, e.date";

/// The number of the tape whose name is the first parameter.
pub(super) const TAPE: &str = "(SELECT number FROM tape WHERE name = $1)";

/// The entry in a row of [`COLUMNS`].
pub(super) fn entry(row: &Row) -> Result<Entry> {
    entry_at(row, 0)
}

/// The entry in the columns from that one on.
pub(crate) fn entry_at(row: &Row, first: usize) -> Result<Entry> {
    let text = |column: usize| -> Result<Arc<str>> {
        let bytes: &[u8] = row.try_get(first + column).map_err(|_| damaged())?;
        str::from_utf8(bytes).map(Arc::from).map_err(|_| damaged())
    };
    Ok(Entry { id: number(row, first)?, kind: text(1)?, payload: text(2)?, meta: text(3)?, date: text(4)? })
}

/// The entries in rows of [`COLUMNS`].
pub(super) fn entries(rows: &[Row]) -> Result<Vec<Entry>> {
    rows.iter().map(entry).collect()
}

/// An id or a count.
pub(super) fn number(row: &Row, column: usize) -> Result<u64> {
    let number: Option<i64> = row.try_get(column).map_err(|_| damaged())?;
    u64::try_from(number.unwrap_or_default()).map_err(|_| damaged())
}

/// An id as a column. One that no entry can have becomes the largest, which none has.
pub(super) fn column(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// The upper bound of ids, exclusive.
pub(super) fn bound(before: Option<u64>) -> i64 {
    before.map_or(i64::MAX, column)
}

pub(super) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

/// Another program changed the rows.
pub(crate) fn damaged() -> Error {
    Error::invalid("the tables of the database hold what this program did not write")
}

/// The rows of new entries, by column.
#[derive(Default)]
pub(super) struct NewRows {
    pub(super) ids: Vec<i64>,
    pub(super) kinds: Vec<Arc<str>>,
    pub(super) payloads: Vec<Arc<str>>,
    pub(super) metas: Vec<Arc<str>>,
    pub(super) dates: Vec<Arc<str>>,
    pub(super) names: Vec<Option<Vec<u8>>>,
    pub(super) phases: Vec<bool>,
}

impl NewRows {
    pub(super) fn add(&mut self, entry: Entry) {
        self.ids.push(column(entry.id));
        self.names.push(entry.name().map(String::into_bytes));
        self.phases.push(entry.begins_phase());
        self.kinds.push(entry.kind);
        self.payloads.push(entry.payload);
        self.metas.push(entry.meta);
        self.dates.push(entry.date);
    }

    /// Adds drafts, numbered from `first`.
    pub(super) fn add_drafts(&mut self, first: u64, drafts: impl IntoIterator<Item = Draft>) {
        (first..).zip(drafts).for_each(|(id, draft)| self.add(draft.numbered(id)));
    }
}

/// Texts as parameters of the type `bytea[]`.
pub(super) fn bytes(texts: &[Arc<str>]) -> Vec<&[u8]> {
    texts.iter().map(|text| text.as_bytes()).collect()
}
