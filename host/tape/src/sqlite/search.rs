//! Searches by the full-text index, and where it does not help, through the whole tape.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::Row;

use super::super::json;
use super::super::search::{Collector, Hit};
use super::read::{self, TapeReader, columns};

/// After this many candidates, check whether the index is selective enough.
const INDEX_PROBE: i64 = 512;

/// How many rows can be scanned in the time of one lookup.
const INDEX_COST: i64 = 6;

/// Stops a search when it is dropped.
#[derive(Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a search. `grams` is the query of the index; without it the whole tape is scanned.
///
/// Ends soon after `stop` is set, with the hits so far.
pub(super) fn search(
    seen: &TapeReader<'_>,
    mut found: Collector,
    grams: Option<&str>,
    before: Option<u64>,
    stop: &AtomicBool,
) -> rusqlite::Result<Vec<Hit>> {
    let limits = Limits { first: seen.place(0), last: seen.last_place(before), stop, late: found.deadline() };
    let mut line = String::new();
    literal_pass(seen, grams, &limits, &mut |row| {
        write_line(row, &mut line)?;
        Ok(match found.may_be_literal(line.as_bytes()) {
            true => found.offer_literal(read::entry(row)?),
            false => ControlFlow::Continue(()),
        })
    })?;
    if found.wants_more() {
        let _all = walk_back(seen, &limits, &mut |row| {
            write_line(row, &mut line)?;
            Ok(match found.may_be_forgiven(line.as_bytes()) {
                true => found.offer_forgiving(read::entry(row)?),
                false => ControlFlow::Continue(()),
            })
        })?;
    }
    Ok(found.finish())
}

/// Examines a row; breaks when it needs no more.
type Visit<'v> = dyn FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>> + 'v;

/// The part of the tape to search, and the stop flag.
#[derive(Clone, Copy)]
struct Limits<'s> {
    /// The `place` before the first.
    first: i64,
    last: i64,
    stop: &'s AtomicBool,
    late: Option<Instant>,
}

impl Limits<'_> {
    fn are_met(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.late.is_some_and(|late| Instant::now() >= late)
    }
}

/// Passes all rows that may contain the words to `visit`, last first.
fn literal_pass(
    seen: &TapeReader<'_>,
    grams: Option<&str>,
    limits: &Limits<'_>,
    visit: &mut Visit<'_>,
) -> rusqlite::Result<()> {
    let Some(grams) = grams else {
        return walk_back(seen, limits, visit).map(drop);
    };
    let indexed = seen.place(seen.indexed()?);
    if walk_back(seen, &Limits { first: indexed, ..*limits }, visit)?.is_break() {
        return Ok(());
    }
    match by_index(seen, grams, &Limits { last: indexed.min(limits.last), ..*limits }, visit)? {
        Some(rest) => walk_back(seen, &Limits { last: rest, ..*limits }, visit).map(drop),
        None => Ok(()),
    }
}

/// Passes the index's candidates to `visit`, last first. If most rows turn out to be candidates, stops and returns the
/// `place` up to which rows remain.
fn by_index(
    seen: &TapeReader<'_>,
    grams: &str,
    limits: &Limits<'_>,
    visit: &mut Visit<'_>,
) -> rusqlite::Result<Option<i64>> {
    let query = "SELECT rowid FROM gram WHERE gram MATCH ? AND rowid > ? AND rowid <= ? ORDER BY rowid DESC";
    let mut candidates = seen.connection.prepare_cached(query)?;
    let mut candidates = candidates.query((grams, limits.first, limits.last))?;
    let query = concat!("SELECT ", columns!(), " FROM entry WHERE place = ?");
    let mut entry = seen.connection.prepare_cached(query)?;
    let mut looks = 0;
    while !limits.are_met()
        && let Some(candidate) = candidates.next()?
    {
        let place: i64 = candidate.get(0)?;
        if looks >= INDEX_PROBE && limits.last.saturating_sub(place) < looks * INDEX_COST {
            return Ok(Some(place));
        }
        looks += 1;
        let mut rows = entry.query([place])?;
        if let Some(row) = rows.next()?
            && visit(row)?.is_break()
        {
            break;
        }
    }
    Ok(None)
}

/// Passes all rows to `visit`, last first.
fn walk_back(seen: &TapeReader<'_>, limits: &Limits<'_>, visit: &mut Visit<'_>) -> rusqlite::Result<ControlFlow<()>> {
    let query = concat!("SELECT ", columns!(), " FROM entry WHERE place > ? AND place <= ? ORDER BY place DESC");
    let mut statement = seen.connection.prepare_cached(query)?;
    let mut rows = statement.query((limits.first, limits.last))?;
    while let Some(row) = rows.next()? {
        if limits.are_met() || visit(row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Writes the row like [`Entry::line`](super::super::entry::Entry::line), into a reused buffer: prefiltering a line
/// costs less than parsing the row.
fn write_line(row: &Row<'_>, line: &mut String) -> rusqlite::Result<()> {
    let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    line.clear();
    line.push_str("{\"id\": ");
    line.push_str(&read::id(row.get(0)?).to_string());
    line.push_str(", \"kind\": ");
    quote(text(1)?, line);
    for (key, column) in [(", \"payload\": ", 2), (", \"meta\": ", 3)] {
        line.push_str(key);
        line.push_str(text(column)?);
    }
    line.push_str(", \"date\": ");
    quote(text(4)?, line);
    line.push('}');
    Ok(())
}

fn quote(text: &str, line: &mut String) {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b':' | b'.')) {
        line.push('"');
        line.push_str(text);
        line.push('"');
    } else {
        line.push_str(&json::quote(text));
    }
}
