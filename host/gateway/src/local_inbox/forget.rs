//! Removes what a sender has said from the inbox database, beside a `serve` that may use it.

use super::schema;
use crate::kept_words::{KeptRow, Whose, message_goes};
use anyhow::{Context, Result};
use bub_tape::Durability;
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;

/// The name of the database in a home.
const FILE: &str = "serve.sqlite";

/// The messages and answers in the home's database that go.
pub(crate) fn rows(home: &Path, whose: &dyn Whose) -> Result<Vec<KeptRow>> {
    let Some(connection) = open(home)? else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    let row = |table, key, envelope, answer| KeptRow { table, key, envelope, answer, is_open: false, is_shared: false };
    let mut messages = connection.prepare("SELECT number, envelope, answer FROM message")?;
    let found = messages
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?)))?;
    for found in found {
        let (number, envelope, answer) = found?;
        let parsed: Value = serde_json::from_str(&envelope).unwrap_or_default();
        if message_goes(whose, (&envelope, &parsed), answer.as_deref()) {
            let answer = answer.and_then(|answer| serde_json::from_str(&answer).ok()).unwrap_or_default();
            rows.push(row("message", number.to_string(), parsed, answer));
        }
    }
    let mut outbounds = connection.prepare("SELECT key, envelope FROM outbound")?;
    let found = outbounds.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    for found in found {
        let (key, envelope) = found?;
        if whose.quotes(&envelope) {
            rows.push(row("outbound", key, serde_json::from_str(&envelope).unwrap_or_default(), Value::Null));
        }
    }
    Ok(rows)
}

/// Deletes rows, and overwrites what they held, in the write-ahead log too as far as no reader holds it.
pub(crate) fn erase<'r>(home: &Path, rows: impl Iterator<Item = &'r KeptRow>) -> Result<()> {
    let Some(mut connection) = open(home)? else { return Ok(()) };
    let transaction = connection.transaction()?;
    for KeptRow { table, key, .. } in rows {
        match *table {
            "message" => transaction.execute("DELETE FROM message WHERE number = ?1", [key.parse::<i64>()?])?,
            _ => transaction.execute("DELETE FROM outbound WHERE key = ?1", [key])?,
        };
    }
    transaction.commit().with_context(|| format!("`{FILE}` cannot be written"))?;
    // Deleted rows are overwritten by `secure_delete`. Where a reader is in the way, the log is cut by the next writer.
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    Ok(())
}

fn open(home: &Path) -> Result<Option<Connection>> {
    let path = home.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let opened = schema::open(&path, Durability::Fsync);
    Ok(Some(opened.with_context(|| format!("`{}` cannot be opened", path.display()))?))
}
