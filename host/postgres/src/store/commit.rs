//! Commits: those without a reset by one call, others by the rules that all stores share.

use bub_tape::{Batch, Commit, Draft, Error, Outcome, Reset, Result, check_tape_name, family, is_listed, transaction};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::row::{NewRows, bytes, damaged};
use super::snapshot::Snapshot;
use crate::database::Database;
use crate::fault::READ_ONLY;
use crate::lease::Fence;
use crate::transaction::{Attempts, Failed, Transaction, within};

/// The call of the schema's function for commits without a reset.
const APPEND: &str = concat!(
    "SELECT outcome, ids, ",
    mark!(),
    " FROM append_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
);

/// Implements [`Store::commit`](bub_tape::Store::commit).
pub(super) async fn commit(database: &Database, fence: Option<&Fence>, commit: Commit) -> Result<Outcome> {
    let Some(tape) = commit.tape()?.map(str::to_owned) else {
        return Ok(Outcome::Stored(Vec::new()));
    };
    let action = format!("append to tape `{tape}`");
    if commit.batches.iter().all(|batch| batch.reset.is_none()) {
        return append(database, &action, fence, &tape, commit).await;
    }
    let mut attempts = Attempts::new(database, &action);
    loop {
        let transaction = attempts.begin().await?;
        let done = within(commit_in(&transaction, fence, &tape, commit.clone())).await;
        if let Some(outcome) = attempts.end(transaction, done).await? {
            return Ok(outcome);
        }
    }
}

async fn commit_in(
    client: &Transaction,
    fence: Option<&Fence>,
    tape: &str,
    commit: Commit,
) -> std::result::Result<Outcome, Failed> {
    client.check(fence).await?;
    let mut snapshot = Snapshot::read(client, tape, true).await?;
    let outcome = transaction::commit(&mut snapshot, commit)?;
    snapshot.write(client).await?;
    Ok(outcome)
}

/// Implements [`Store::reset`](bub_tape::Store::reset).
pub(super) async fn reset(
    database: &Database,
    fence: Option<&Fence>,
    tape: &str,
    archive: bool,
) -> Result<Option<String>> {
    check_tape_name(tape)?;
    let action = format!("reset tape `{tape}`");
    let mut attempts = Attempts::new(database, &action);
    loop {
        let transaction = attempts.begin().await?;
        let done = within(reset_in(&transaction, fence, tape, archive)).await;
        if let Some(archive) = attempts.end(transaction, done).await? {
            return Ok(archive);
        }
    }
}

async fn reset_in(
    client: &Transaction,
    fence: Option<&Fence>,
    tape: &str,
    archive: bool,
) -> std::result::Result<Option<String>, Failed> {
    client.check(fence).await?;
    if client.query_opt("SELECT 1 FROM family WHERE name = $1 FOR UPDATE", &[&family(tape)]).await?.is_none() {
        // Nothing was ever written to it.
        return Ok(None);
    }
    let mut snapshot = Snapshot::read(client, tape, true).await?;
    let archive = if archive { transaction::archive_name(&mut snapshot, tape)? } else { None };
    let reset = Some(Reset { archive: archive.clone(), kept: Vec::new() });
    transaction::commit(&mut snapshot, Commit::new(Batch { tape: tape.to_owned(), reset, ..Batch::default() }))?;
    snapshot.write(client).await?;
    Ok(archive)
}

/// Implements [`Store::archive_name`](bub_tape::Store::archive_name).
pub(super) async fn archive_name(database: &Database, tape: &str) -> Result<Option<String>> {
    check_tape_name(tape)?;
    let action = format!("archive tape `{tape}`");
    let mut attempts = Attempts::new(database, &action);
    loop {
        let transaction = attempts.begin().await?;
        let read = within(Snapshot::read(&transaction, tape, false)).await;
        if let Some(mut snapshot) = attempts.end(transaction, read).await? {
            return transaction::archive_name(&mut snapshot, tape);
        }
    }
}

/// Implements [`Store::check_writable`](bub_tape::Store::check_writable).
pub(super) async fn check_writable(database: &Database, action: String) -> Result<()> {
    // On a standby, too.
    let rows = database.query(&action, "SELECT current_setting('transaction_read_only') = 'on'", &[]).await?;
    match rows.first().map(|row| row.try_get(0)) {
        Some(Ok(false)) => Ok(()),
        _ => {
            let source = std::io::Error::new(std::io::ErrorKind::PermissionDenied, READ_ONLY);
            Err(Error::Io { action, source })
        }
    }
}

async fn append(
    database: &Database,
    action: &str,
    fence: Option<&Fence>,
    family: &str,
    commit: Commit,
) -> Result<Outcome> {
    commit.batches.iter().flat_map(|batch| &batch.drafts).try_for_each(Draft::check_length)?;
    let (mut names, mut expected, mut counts, mut listed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut places, mut rows) = (Vec::<i32>::new(), NewRows::default());
    for (place, batch) in (1..).zip(commit.batches) {
        counts.push(i64::try_from(batch.drafts.len()).unwrap_or(i64::MAX));
        listed.push(is_listed(&batch.tape));
        expected.push(batch.expect_last.map(|last| i64::try_from(last).unwrap_or(-1)));
        places.extend(batch.drafts.iter().map(|_| place));
        // Numbers from 0: the database adds the first id.
        rows.add_drafts(0, batch.drafts);
        names.push(batch.tape);
    }
    let key = commit.key.as_ref().map(String::as_bytes);
    let (kinds, payloads) = (bytes(&rows.kinds), bytes(&rows.payloads));
    let (metas, dates) = (bytes(&rows.metas), bytes(&rows.dates));
    let (lease, epoch) = (fence.map(|fence| &fence.name), fence.map(|fence| fence.epoch));
    let owner = fence.map(|fence| fence.owner.as_slice());
    let values: [(&(dyn ToSql + Sync), Type); 17] = [
        (&lease, Type::TEXT),
        (&epoch, Type::INT8),
        (&owner, Type::BYTEA),
        (&family, Type::TEXT),
        (&key, Type::BYTEA),
        (&names, Type::TEXT_ARRAY),
        (&expected, Type::INT8_ARRAY),
        (&counts, Type::INT8_ARRAY),
        (&listed, Type::BOOL_ARRAY),
        (&places, Type::INT4_ARRAY),
        (&rows.ids, Type::INT8_ARRAY),
        (&kinds, Type::BYTEA_ARRAY),
        (&payloads, Type::BYTEA_ARRAY),
        (&metas, Type::BYTEA_ARRAY),
        (&dates, Type::BYTEA_ARRAY),
        (&rows.names, Type::BYTEA_ARRAY),
        (&rows.phases, Type::BOOL_ARRAY),
    ];
    // With its key it is done once.
    let answer = database.call(action, APPEND, &values, key.is_some()).await?;
    let answer = answer.first().ok_or_else(damaged)?;
    match (answer.try_get(0), fence) {
        (Ok("fenced"), Some(fence)) => Err(fence.lost()),
        _ => outcome(answer, &names),
    }
}

fn outcome(row: &Row, names: &[String]) -> Result<Outcome> {
    let outcome: &str = row.try_get(0).map_err(|_| damaged())?;
    let ids: Vec<i64> = row.try_get(1).map_err(|_| damaged())?;
    let ids: Vec<u64> = ids.into_iter().map(|id| u64::try_from(id).map_err(|_| damaged())).collect::<Result<_>>()?;
    let first = ids.first().copied().unwrap_or_default();
    match outcome {
        "stored" => Ok(Outcome::Stored(ids)),
        "already" => Ok(Outcome::Already),
        "conflict" => Err(Error::Conflict { last: first }),
        "full" => Err(Error::invalid(format!("no ids are left after {first}"))),
        "archive" => {
            let place = usize::try_from(first).unwrap_or_default().saturating_sub(1);
            let name = names.get(place).ok_or_else(damaged)?;
            Err(Error::invalid(format!("`{name}` is an archive and cannot be written")))
        }
        _ => Err(damaged()),
    }
}
