//! Removes what a sender has said from the inbox database, beside a `serve` that may use it.

use super::schema;
use anyhow::{Context, Result};
use bub_tape::Durability;
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;

/// Rows of the inbox database: the table, its key, and the row's envelope or answer.
pub type InboxRow = (&'static str, String, Value);

/// The name of the database in a home.
const FILE: &str = "serve.sqlite";

/// The messages that `is_theirs` says of, by their senders, and the answers in which `quotes` finds something. Messages whose
/// text it finds are among them only if they have no sender, because several were merged.
///
/// # Errors
///
/// The database cannot be read.
pub fn inbox_rows(
    home: &Path,
    is_theirs: &dyn Fn(&str) -> bool,
    quotes: &dyn Fn(&str) -> bool,
) -> Result<Vec<InboxRow>> {
    let Some(connection) = open(home)? else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    let mut messages = connection.prepare("SELECT number, envelope, answer FROM message")?;
    let found = messages
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?)))?;
    for found in found {
        let (number, envelope, answer) = found?;
        let parsed: Value = serde_json::from_str(&envelope).unwrap_or_default();
        let goes = match sender(&parsed) {
            Some(sender) => is_theirs(&sender) || answer.as_deref().is_some_and(quotes),
            None => quotes(&envelope) || answer.as_deref().is_some_and(quotes),
        };
        if goes {
            rows.push(("message", number.to_string(), parsed));
        }
    }
    let mut outbounds = connection.prepare("SELECT key, envelope FROM outbound")?;
    let found = outbounds.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    for found in found {
        let (key, envelope) = found?;
        if quotes(&envelope) {
            rows.push(("outbound", key, serde_json::from_str(&envelope).unwrap_or_default()));
        }
    }
    Ok(rows)
}

/// The texts of the messages of a sender that the database still holds.
///
/// # Errors
///
/// The database cannot be read.
pub fn inbox_texts(home: &Path, is_theirs: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
    let rows = inbox_rows(home, is_theirs, &|_| false)?;
    let text = |envelope: &Value| envelope.get("content").and_then(Value::as_str).map(str::to_owned);
    Ok(rows.iter().filter_map(|(_, _, envelope)| text(envelope)).collect())
}

/// Deletes rows, and overwrites what they held, in the write-ahead log too as far as no reader holds it.
///
/// # Errors
///
/// The database cannot be written.
pub fn forget_inbox_rows(home: &Path, rows: &[InboxRow]) -> Result<()> {
    let Some(mut connection) = open(home)? else { return Ok(()) };
    let transaction = connection.transaction()?;
    for (table, key, _) in rows {
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

/// The sender that an envelope names.
fn sender(envelope: &Value) -> Option<String> {
    let context = envelope.get("context")?;
    let value = match context {
        Value::Array(pairs) => {
            pairs.iter().find(|pair| pair.get(0).and_then(Value::as_str) == Some("sender_id"))?.get(1)?
        }
        fields => fields.get("sender_id")?,
    };
    let text = value.as_str()?;
    // Values of a context are JSON.
    Some(serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned()))
}
