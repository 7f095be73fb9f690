//! The index for searches: grams of entries, made after the answer.

use bub_tape::{Entry, Result, check_tape_name, grams};
use futures_util::future::try_join_all;
use tokio_postgres::Statement;

use super::row::{COLUMNS, column, entries, limit, number};
use crate::database::Database;
use crate::transaction::{Attempts, Failed, Transaction, within};

/// Entries, and bytes of them, that are indexed in one transaction.
const PAGE: usize = 128;
const BYTES: usize = 4 << 20;

/// The lowest number of new entries for which it is worth it: a search reads as many in one step.
const BATCH: u64 = 64;

/// Implements [`Store::index`](bub_tape::Store::index).
pub(super) async fn index(database: &Database, tape: &str) -> Result<()> {
    check_tape_name(tape)?;
    let action = format!("index tape `{tape}`");
    let state = "SELECT t.number, t.indexed, t.erasures, (SELECT max(e.id) FROM entry e WHERE e.tape = t.number) \
                 FROM tape t WHERE t.name = $1";
    loop {
        let rows = database.query(&action, state, &[&tape]).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let (tape, indexed, last) = (column(number(row, 0)?), number(row, 1)?, number(row, 3)?);
        let erasures = column(number(row, 2)?);
        if last < indexed.saturating_add(BATCH) {
            return Ok(());
        }
        // Neither reading nor counting grams happens in the transaction.
        let statement = format!("SELECT {COLUMNS} FROM entry e WHERE e.tape = $1 AND e.id > $2 ORDER BY e.id LIMIT $3");
        let rows = database.query(&action, &statement, &[&tape, &column(indexed), &limit(PAGE)]).await?;
        let page = bounded(entries(&rows)?);
        let Some(end) = page.last().map(|entry| column(entry.id)) else { return Ok(()) };
        let found: Vec<_> =
            page.iter().map(|entry| (column(entry.id), with_tape(tape, grams::of_entry(entry)))).collect();
        let advance = Advance { tape, indexed: column(indexed), erasures, end };
        let mut attempts = Attempts::new(database, &action);
        loop {
            let transaction = attempts.begin().await?;
            let done = within(advance.write(&transaction, &found)).await;
            if attempts.end(transaction, done).await?.is_some() {
                break;
            }
        }
    }
}

/// The step of a tape's index from one entry to a later one.
struct Advance {
    tape: i64,
    indexed: i64,
    erasures: i64,
    end: i64,
}

impl Advance {
    async fn write(&self, client: &Transaction, found: &[(i64, Option<Vec<i32>>)]) -> std::result::Result<(), Failed> {
        // Another process may have been faster, or the entries may be gone.
        let statement = "UPDATE tape SET indexed = $4 WHERE number = $1 AND indexed = $2 AND erasures = $3";
        if client.execute(statement, &[&self.tape, &self.indexed, &self.erasures, &self.end]).await? == 0 {
            return Ok(());
        }
        let statement = client.prepare("INSERT INTO gram (tape, id, grams) VALUES ($1, $2, $3)").await?;
        // In one round trip.
        let rows = found.iter().map(|(id, grams)| insert(client, &statement, self.tape, *id, grams));
        try_join_all(rows).await?;
        Ok(())
    }
}

async fn insert(
    client: &Transaction,
    statement: &Statement,
    tape: i64,
    id: i64,
    grams: &Option<Vec<i32>>,
) -> std::result::Result<u64, Failed> {
    Ok(client.execute(statement, &[&tape, &id, grams]).await?)
}

/// The first entries, up to [`BYTES`]; at least one.
fn bounded(mut page: Vec<Entry>) -> Vec<Entry> {
    let mut bytes = 0_usize;
    let fit = page.iter().take_while(|entry| {
        bytes = bytes.saturating_add(entry.payload.len() + entry.meta.len());
        bytes <= BYTES
    });
    let fit = fit.count().max(1);
    page.truncate(fit);
    page
}

/// Adds the tape to the grams, as a negative number, so that the index knows the tape too.
pub(super) fn with_tape(tape: i64, grams: Option<Vec<i32>>) -> Option<Vec<i32>> {
    let mut grams = grams?;
    grams.push(tape_gram(tape));
    Some(grams)
}

/// Two tapes may have the same; the table's own column decides.
pub(super) fn tape_gram(tape: i64) -> i32 {
    -1 - i32::try_from(tape & i64::from(i32::MAX)).unwrap_or_default()
}
