//! Candidates for conditions.

use bub_tape::{Candidates, Condition, Result, check_tape_name, grams};

use super::index::tape_gram;
use super::read::PREFIX;
use super::row::{COLUMNS, bound, column, entries, limit, number};
use crate::database::{Database, Values};

/// Implements [`Store::find`](bub_tape::Store::find). Of what a condition asks, texts are looked up by their grams, or else
/// kinds and the name; dates and similar words are left to the rules.
pub(super) async fn find(
    database: &Database,
    tape: &str,
    condition: &Condition,
    max: usize,
) -> Result<Option<Candidates>> {
    let wanted = grams::of_condition(condition);
    if wanted.is_empty() && condition.kinds.is_empty() && condition.name.is_none() {
        return Ok(None);
    }
    let action = format!("search tape `{tape}`");
    if tape.contains('\0') {
        check_tape_name(tape)?;
    }
    let rows = database.query(&action, "SELECT number, indexed FROM tape WHERE name = $1", &[&tape]).await?;
    let Some(row) = rows.first() else {
        return check_tape_name(tape).map(|()| Some(Candidates::default()));
    };
    let (tape, indexed) = (column(number(row, 0)?), column(number(row, 1)?));
    let (after, before, limit) = (column(condition.after), bound(condition.before), limit(max));
    let order = if condition.newest_first { "DESC" } else { "ASC" };
    let found = if wanted.is_empty() {
        by_kind(database, &action, condition, order, &[&tape, &after, &before, &limit]).await?
    } else {
        let mut all = wanted;
        all.push(tape_gram(tape));
        // An entry that is not indexed yet is a candidate, and so is one with too many grams.
        let part = |from: &str, wanted: &str| {
            format!(
                "(SELECT c.id FROM {from} c WHERE c.tape = $1 AND c.id > $2 AND c.id < $3 AND {wanted} ORDER BY c.id \
                 {order} LIMIT $4)"
            )
        };
        let parts = [
            part("gram", "c.grams @> $6 AND c.id <= $5"),
            part("gram", "c.grams IS NULL AND c.id <= $5"),
            part("entry", "c.id > $5"),
        ];
        let statement = format!(
            "SELECT {COLUMNS} FROM ({}) f JOIN entry e ON e.tape = $1 AND e.id = f.id ORDER BY e.id {order} LIMIT $4",
            parts.join(" UNION ALL ")
        );
        let values: Values<'_> = &[&tape, &after, &before, &limit, &indexed, &all];
        entries(&database.query(&action, &statement, values).await?)?
    };
    let next = found.last().map(|last| last.id).filter(|_| found.len() >= max);
    Ok(Some(Candidates { entries: found, next }))
}

async fn by_kind(
    database: &Database,
    action: &str,
    condition: &Condition,
    order: &str,
    values: Values<'_>,
) -> Result<Vec<bub_tape::Entry>> {
    let kinds: Vec<&[u8]> = condition.kinds.iter().map(String::as_bytes).collect();
    let starts: Vec<&[u8]> = kinds.iter().map(|kind| kind.get(..64).unwrap_or(kind)).collect();
    let name = condition.name.as_ref().map(String::as_bytes);
    let mut wanted = String::new();
    let mut values = values.to_vec();
    if !kinds.is_empty() {
        wanted.push_str(&format!(" AND substr(e.kind, {PREFIX}) = ANY($5) AND e.kind = ANY($6)"));
        values.push(&starts);
        values.push(&kinds);
    }
    if name.is_some() {
        let place = values.len() + 1;
        // Only events and anchors have names.
        let of_kind = if kinds.is_empty() { " AND substr(e.kind, 1, 64) IN ('event', 'anchor')" } else { "" };
        wanted.push_str(&format!(
            "{of_kind} AND e.name IS NOT NULL AND substr(e.name, {PREFIX}) = substr(${place}::bytea, {PREFIX}) AND e.name = \
             ${place}"
        ));
        values.push(&name);
    }
    let statement = format!(
        "SELECT {COLUMNS} FROM entry e WHERE e.tape = $1 AND e.id > $2 AND e.id < $3{wanted} ORDER BY e.id {order} LIMIT $4"
    );
    entries(&database.query(action, &statement, &values).await?)
}
