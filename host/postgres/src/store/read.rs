//! Reads. Each is one statement that uses an index and reads no more rows than it returns.

use std::collections::HashMap;

use bub_tape::{Entry, Info, Lookup, Result, Revision, check_tape_name};

use tokio_postgres::types::{ToSql, Type};

use super::row::{COLUMNS, TAPE, bound, column, entries, limit, number};
use crate::database::{Database, Values};

/// How many bytes of a kind or a name are in an index.
pub(super) const PREFIX: &str = "1, 64";

/// Rejects what no tape or archive can be called, before it is a parameter. The name of an archive may be longer than that
/// of a tape.
pub(super) fn check_characters(name: &str) -> Result<()> {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-');
    if name.chars().all(is_allowed) { Ok(()) } else { check_tape_name(name) }
}

/// Entries of a tape. A missing one is empty.
async fn found(database: &Database, tape: &str, statement: &str, values: Values<'_>) -> Result<Vec<Entry>> {
    check_characters(tape)?;
    let rows = database.query(&action(tape), statement, values).await?;
    if rows.is_empty() {
        check_missing(database, tape).await?;
    }
    entries(&rows)
}

/// Rejects an invalid name, unless it is that of an archive.
async fn check_missing(database: &Database, tape: &str) -> Result<()> {
    let Err(invalid) = check_tape_name(tape) else { return Ok(()) };
    let rows = database.query(&action(tape), "SELECT 1 FROM tape WHERE name = $1", &[&tape]).await?;
    if rows.is_empty() { Err(invalid) } else { Ok(()) }
}

fn action(tape: &str) -> String {
    format!("read tape `{tape}`")
}

/// In one round trip also on a new connection: every turn reads a page of a sidecar.
pub(super) async fn page(database: &Database, tape: &str, after: u64, max: usize) -> Result<Vec<Entry>> {
    check_characters(tape)?;
    let statement = format!("SELECT {COLUMNS} FROM entry e WHERE e.tape = {TAPE} AND e.id > $2 ORDER BY e.id LIMIT $3");
    let (after, max) = (column(after), limit(max));
    let values: [(&(dyn ToSql + Sync), Type); 3] = [(&tape, Type::TEXT), (&after, Type::INT8), (&max, Type::INT8)];
    let rows = database.call(&action(tape), &statement, &values, true).await?;
    if rows.is_empty() {
        check_missing(database, tape).await?;
    }
    entries(&rows)
}

pub(super) async fn tail(database: &Database, tape: &str, before: Option<u64>, max: usize) -> Result<Vec<Entry>> {
    let statement =
        format!("SELECT {COLUMNS} FROM entry e WHERE e.tape = {TAPE} AND e.id < $2 ORDER BY e.id DESC LIMIT $3");
    let mut tail = found(database, tape, &statement, &[&tape, &bound(before), &limit(max)]).await?;
    tail.reverse();
    Ok(tail)
}

pub(super) async fn last_id(database: &Database, tape: &str) -> Result<u64> {
    check_characters(tape)?;
    let statement = format!("SELECT e.id FROM entry e WHERE e.tape = {TAPE} ORDER BY e.id DESC LIMIT 1");
    let rows = database.query(&action(tape), &statement, &[&tape]).await?;
    match rows.first() {
        Some(row) => number(row, 0),
        None => check_missing(database, tape).await.map(|()| 0),
    }
}

/// In one round trip for all.
pub(super) async fn revisions(database: &Database, tapes: &[String]) -> Result<Vec<Option<Revision>>> {
    tapes.iter().try_for_each(|tape| check_characters(tape))?;
    let action = format!("read the tapes in `{}`", database.name());
    let statement = "SELECT t.name, t.number, t.erasures, \
                     (SELECT e.id FROM entry e WHERE e.tape = t.number ORDER BY e.id DESC LIMIT 1) \
                     FROM tape t WHERE t.name = ANY ($1)";
    let rows = database.query(&action, statement, &[&tapes]).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in &rows {
        let name: String = row.try_get(0).map_err(|_| super::row::damaged())?;
        let state = (number(row, 1)?, number(row, 2)?, number(row, 3)?);
        found.insert(name, Revision::of(state));
    }
    Ok(tapes.iter().map(|tape| Some(found.get(tape).copied().unwrap_or_else(|| Revision::of(())))).collect())
}

pub(super) async fn newest(
    database: &Database,
    tape: &str,
    lookup: &Lookup,
    before: Option<u64>,
) -> Result<Option<Entry>> {
    let before = bound(before);
    // The whole value is compared where its beginning is in the index.
    let kind_is = format!("substr(e.kind, {PREFIX}) = substr($3::bytea, {PREFIX}) AND e.kind = $3");
    let name_is =
        format!("e.name IS NOT NULL AND substr(e.name, {PREFIX}) = substr($4::bytea, {PREFIX}) AND e.name = $4");
    let statement = |wanted: &str| {
        format!(
            "SELECT {COLUMNS} FROM entry e WHERE e.tape = {TAPE} AND e.id < $2 AND {wanted} ORDER BY e.id DESC LIMIT 1"
        )
    };
    let of_kind = |kind: &str| (statement(&kind_is), kind.to_owned());
    let entries = match lookup {
        Lookup::Phase => found(database, tape, &statement("e.phase"), &[&tape, &before]).await,
        Lookup::Named { kind, name } => {
            let statement = statement(&format!("{kind_is} AND {name_is}"));
            found(database, tape, &statement, &[&tape, &before, &kind.as_bytes(), &name.as_bytes()]).await
        }
        Lookup::Kind(_) | Lookup::Anchor => {
            let (statement, kind) = of_kind(if let Lookup::Kind(kind) = lookup { kind } else { "anchor" });
            found(database, tape, &statement, &[&tape, &before, &kind.as_bytes()]).await
        }
    };
    Ok(entries?.pop())
}

pub(super) async fn since_anchor(database: &Database, tape: &str) -> Result<Vec<Entry>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM entry e WHERE e.tape = {TAPE} AND e.id >= coalesce(\
         (SELECT a.id FROM entry a WHERE a.tape = {TAPE} AND a.phase ORDER BY a.id DESC LIMIT 1), 0) ORDER BY e.id"
    );
    found(database, tape, &statement, &[&tape]).await
}

/// Counts in the database; of entries with statistics of their own, which are few, reads the content.
pub(super) async fn info(database: &Database, tape: &str) -> Result<Info> {
    let counts =
        format!("SELECT count(*), count(*) FILTER (WHERE e.phase), max(e.id) FROM entry e WHERE e.tape = {TAPE}");
    check_characters(tape)?;
    let rows = database.query(&action(tape), &counts, &[&tape]).await?;
    let Some(row) = rows.first() else { return Ok(Info { name: tape.to_owned(), ..Info::default() }) };
    let (all, anchors, last) = (number(row, 0)?, number(row, 1)?, number(row, 2)?);
    if all == 0 {
        check_missing(database, tape).await?;
    }
    let counted = format!(
        "SELECT {COLUMNS} FROM entry e WHERE e.tape = {TAPE} AND e.id <= $2 AND (e.id = \
         (SELECT a.id FROM entry a WHERE a.tape = {TAPE} AND a.phase AND a.id <= $2 ORDER BY a.id DESC LIMIT 1) OR \
         (substr(e.kind, {PREFIX}) = 'event' AND e.name IS NOT NULL AND substr(e.name, {PREFIX}) = 'run')) ORDER BY e.id"
    );
    let mut info = Info { name: tape.to_owned(), ..Info::default() };
    let mut phase = 0;
    for entry in found(database, tape, &counted, &[&tape, &column(last)]).await? {
        info.count(&entry);
        if entry.begins_phase() {
            phase = entry.id;
        }
    }
    let since = format!("SELECT count(*) FROM entry e WHERE e.tape = {TAPE} AND e.id > $2 AND e.id <= $3");
    let rows = database.query(&action(tape), &since, &[&tape, &column(phase), &column(last)]).await?;
    let since = rows.first().map_or(Ok(0), |row| number(row, 0))?;
    Ok(Info { entries: all, anchors, entries_since_last_anchor: since, ..info })
}

pub(super) async fn list(database: &Database, after: Option<&str>, max: usize) -> Result<Vec<String>> {
    names(database, "SELECT name FROM tape WHERE listed AND name > $1 ORDER BY name LIMIT $2", after, max).await
}

pub(super) async fn archives(database: &Database, after: Option<&str>, max: usize) -> Result<Vec<String>> {
    names(database, "SELECT name FROM tape WHERE archive AND name > $1 ORDER BY name LIMIT $2", after, max).await
}

async fn names(database: &Database, statement: &str, after: Option<&str>, max: usize) -> Result<Vec<String>> {
    let action = format!("list the tapes in `{}`", database.name());
    // No name contains this character, which `text` cannot.
    let after = after.unwrap_or_default().replace('\0', "\u{1}");
    let rows = database.query(&action, statement, &[&after, &limit(max)]).await?;
    rows.iter().map(|row| row.try_get(0).map_err(|_| super::row::damaged())).collect()
}

pub(super) async fn sidecars(database: &Database, tape: &str) -> Result<Vec<String>> {
    check_tape_name(tape)?;
    let action = format!("list the sidecars of tape `{tape}`");
    // Names are ASCII, so this is after all names with the prefix.
    let first = format!("{tape}__sidecar__");
    let behind = format!("{first}\u{7f}");
    let statement = "SELECT name FROM tape WHERE name >= $1 AND name < $2 AND NOT archive ORDER BY name";
    let rows = database.query(&action, statement, &[&first, &behind]).await?;
    rows.iter().map(|row| row.try_get(0).map_err(|_| super::row::damaged())).collect()
}
