//! Reads within a transaction. Every query uses an index, and reads no more rows than it returns.

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::super::entry::Entry;
use super::super::info::Info;
use super::super::lookup::Lookup;
use super::super::revision::Revision;

/// Bits of the id in a `place`.
pub(super) const SHIFT: u32 = 32;

/// The largest id that fits into a `place`.
pub(super) const LARGEST_ID: u64 = (1 << SHIFT) - 1;

/// The columns that [`entry`] reads.
macro_rules! columns {
    () => {
        "place, kind, payload, meta, date"
    };
}
pub(super) use columns;

/// A snapshot of a tape.
pub(super) struct TapeReader<'c> {
    pub(super) connection: &'c Connection,
    pub(super) number: i64,
}

impl TapeReader<'_> {
    /// The row of the entry with that id; after all rows if no entry can have it.
    pub(super) fn place(&self, id: u64) -> i64 {
        self.number << SHIFT | column(id)
    }

    pub(super) fn page(&self, after: u64, max: usize) -> rusqlite::Result<Vec<Entry>> {
        let query = concat!("SELECT ", columns!(), " FROM entry WHERE place > ? AND place <= ? ORDER BY place LIMIT ?");
        self.entries(query, (self.place(after), self.place(LARGEST_ID), limit(max)))
    }

    pub(super) fn tail(&self, before: Option<u64>, max: usize) -> rusqlite::Result<Vec<Entry>> {
        let query =
            concat!("SELECT ", columns!(), " FROM entry WHERE place > ? AND place <= ? ORDER BY place DESC LIMIT ?");
        let mut found = self.entries(query, (self.place(0), self.last_place(before), limit(max)))?;
        found.reverse();
        Ok(found)
    }

    pub(super) fn newest(&self, lookup: &Lookup, before: Option<u64>) -> rusqlite::Result<Option<Entry>> {
        let (first, last) = (self.place(0), self.last_place(before));
        // The planner does not know how rare a kind is, and would scan the tape.
        macro_rules! newest {
            ($index:literal, $wanted:literal) => {
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM entry INDEXED BY ",
                    $index,
                    " WHERE ",
                    $wanted,
                    " AND place > ? AND place <= ? ORDER BY place DESC LIMIT 1"
                )
            };
        }
        let found = match lookup {
            Lookup::Kind(kind) => self.entries(newest!("entry_kind", "kind = ?"), (kind, first, last)),
            Lookup::Anchor => self.entries(newest!("entry_kind", "kind = 'anchor'"), (first, last)),
            Lookup::Phase => self.entries(newest!("entry_phase", "phase = 1"), (first, last)),
            Lookup::Named { kind, name } => {
                self.entries(newest!("entry_name", "kind = ? AND name = ?"), (kind, name, first, last))
            }
        };
        Ok(found?.pop())
    }

    /// The id up to which entries are in the full-text index.
    pub(super) fn indexed(&self) -> rusqlite::Result<u64> {
        let query = "SELECT indexed FROM tape WHERE number = ?";
        self.connection.prepare_cached(query)?.query_row([self.number], |row| row.get(0)).map(id)
    }

    /// The `place` of the last entry before that id, if there is one.
    pub(super) fn last_place(&self, before: Option<u64>) -> i64 {
        match before {
            Some(before) => self.place(before.saturating_sub(1)),
            None => self.place(LARGEST_ID),
        }
    }

    fn entries(&self, query: &str, values: impl Params) -> rusqlite::Result<Vec<Entry>> {
        self.connection.prepare_cached(query)?.query_map(values, entry)?.collect()
    }
}

pub(super) fn last_id(seen: &TapeReader<'_>) -> rusqlite::Result<u64> {
    let query = "SELECT place FROM entry WHERE place > ? AND place <= ? ORDER BY place DESC LIMIT 1";
    let mut statement = seen.connection.prepare_cached(query)?;
    let last = statement.query_row((seen.place(0), seen.place(LARGEST_ID)), |row| row.get(0)).optional()?;
    Ok(last.map_or(0, id))
}

/// `None` after an erasure, until the next write has counted again.
pub(super) fn revision(seen: &TapeReader<'_>) -> rusqlite::Result<Option<Revision>> {
    let query = "SELECT info FROM tape WHERE number = ?";
    let info: String = seen.connection.prepare_cached(query)?.query_row([seen.number], |row| row.get(0))?;
    let last = last_id(seen)?;
    Ok((!info.is_empty()).then(|| Revision::of((seen.number, last, info))))
}

pub(super) fn since_anchor(seen: &TapeReader<'_>) -> rusqlite::Result<Vec<Entry>> {
    let anchor = seen.newest(&Lookup::Phase, None)?;
    seen.page(anchor.map_or(0, |anchor| anchor.id.saturating_sub(1)), usize::MAX)
}

/// The statistics of the last write, recomputed if they cannot be read.
pub(super) fn info(seen: &TapeReader<'_>) -> rusqlite::Result<Info> {
    let query = "SELECT info FROM tape WHERE number = ?";
    let text: String = seen.connection.prepare_cached(query)?.query_row([seen.number], |row| row.get(0))?;
    if let Ok(info) = serde_json::from_str(&text) {
        return Ok(info);
    }
    let mut info = Info::default();
    let query = concat!("SELECT ", columns!(), " FROM entry WHERE place > ? AND place <= ? ORDER BY place");
    let mut statement = seen.connection.prepare_cached(query)?;
    for found in statement.query_map((seen.place(0), seen.place(LARGEST_ID)), entry)? {
        info.count(&found?);
    }
    Ok(info)
}

/// The number of the tape or archive of that name.
pub(super) fn number(connection: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT number FROM tape WHERE name = ?")?;
    statement.query_row([name], |row| row.get(0)).optional()
}

pub(super) fn names(connection: &Connection, after: &str, max: usize) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT name FROM tape WHERE listed = 1 AND name > ? ORDER BY name LIMIT ?";
    connection.prepare_cached(query)?.query_map((after, limit(max)), |row| row.get(0))?.collect()
}

pub(super) fn archives(connection: &Connection, after: &str, max: usize) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT name FROM tape WHERE archive = 1 AND name > ? ORDER BY name LIMIT ?";
    connection.prepare_cached(query)?.query_map((after, limit(max)), |row| row.get(0))?.collect()
}

/// The entry in a row of [`columns`].
pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry { id: id(row.get(0)?), kind: row.get(1)?, payload: row.get(2)?, meta: row.get(3)?, date: row.get(4)? })
}

/// The id of a `place`.
pub(super) fn id(place: i64) -> u64 {
    place as u64 & LARGEST_ID
}

/// Converts an id to SQLite's signed integers.
pub(super) fn column(id: u64) -> i64 {
    id.min(LARGEST_ID) as i64
}

fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
