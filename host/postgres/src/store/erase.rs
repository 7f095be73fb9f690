//! Erasures.

use bub_tape::transfer::Holding;
use bub_tape::{Erasure, Result, Verdict, check_tape_name, grams};

use super::index::with_tape;
use super::row::{COLUMNS, NewRows, TAPE, column, entry, number};
use super::snapshot::insert;
use crate::database::Database;
use crate::lease::Fence;
use crate::transaction::{Attempts, Failed, Transaction, within};

/// Implements [`Store::erase`](bub_tape::Store::erase).
pub(super) async fn erase(database: &Database, fence: Option<&Fence>, tape: &str, erasure: Erasure) -> Result<u64> {
    // The name of an archive may be longer than that of a tape; no name contains this character.
    if tape.contains('\0') {
        check_tape_name(tape)?;
    }
    let action = format!("erase entries of tape `{tape}`");
    let mut attempts = Attempts::new(database, &action);
    loop {
        let transaction = attempts.begin().await?;
        let done = within(erase_in(&transaction, fence, tape, &erasure)).await;
        if let Some(erased) = attempts.end(transaction, done).await? {
            return Ok(erased);
        }
    }
}

async fn erase_in(
    client: &Transaction,
    fence: Option<&Fence>,
    tape: &str,
    erasure: &Erasure,
) -> std::result::Result<u64, Failed> {
    client.check(fence).await?;
    // Nothing was ever written to it; else it stays a tape or an archive.
    let Some(row) = client.query_opt("SELECT archive FROM tape WHERE name = $1", &[&tape]).await? else {
        return Ok(0);
    };
    let holding = Holding { name: tape.to_owned(), is_archive: row.try_get(0)? };
    let lock = "SELECT 1 FROM family WHERE name = $1 FOR UPDATE";
    if client.query_opt(lock, &[&holding.family()]).await?.is_none() {
        return Ok(0);
    }
    let chosen = format!("SELECT {COLUMNS} FROM entry e WHERE e.tape = {TAPE} AND e.id = ANY($2) ORDER BY e.id");
    let ids: Vec<i64> = erasure.ids().map(column).collect();
    let (mut gone, mut blanks) = (Vec::new(), Vec::new());
    for row in client.query(&chosen, &[&tape, &ids]).await? {
        let entry = entry(&row)?;
        match erasure.verdict(&entry) {
            Verdict::Stays => continue,
            Verdict::Goes => {}
            Verdict::Blanked(blank) => blanks.push(blank),
        }
        gone.push(column(entry.id));
    }
    if gone.is_empty() {
        return Ok(0);
    }
    // The count tells an index that is being made that its entries are no longer those.
    let counted = "UPDATE tape SET erasures = erasures + 1 WHERE name = $1 RETURNING number, indexed, \
                   (SELECT max(e.id) FROM entry e WHERE e.tape = number)";
    let row = client.query_one(counted, &[&tape]).await?;
    let (of, indexed, last) = (column(number(&row, 0)?), number(&row, 1)?, number(&row, 2)?);
    client.execute("DELETE FROM gram WHERE tape = $1 AND id = ANY($2)", &[&of, &gone]).await?;
    client.execute("DELETE FROM entry WHERE tape = $1 AND id = ANY($2)", &[&of, &gone]).await?;
    let mut rows = NewRows::default();
    for blank in blanks {
        if blank.id <= indexed {
            let grams = with_tape(of, grams::of_entry(&blank));
            let statement = "INSERT INTO gram (tape, id, grams) VALUES ($1, $2, $3)";
            client.execute(statement, &[&of, &column(blank.id), &grams]).await?;
        }
        rows.add(blank);
    }
    rows.add_drafts(last + 1, erasure.receipt().cloned());
    insert(client, tape, &rows).await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}
