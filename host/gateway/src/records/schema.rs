//! The database of the gateway's records.

use anyhow::{Result, bail, ensure};
use bub_tape::Durability;
use rusqlite::Connection;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// What this program wrote, and in which form.
const VERSION: i64 = 2;

const TABLES: &str = "
CREATE TABLE message (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    id TEXT,
    envelope TEXT NOT NULL,
    print TEXT NOT NULL,
    speaker TEXT,
    active INTEGER NOT NULL,
    leader INTEGER,
    state TEXT NOT NULL,
    answer TEXT,
    taken TEXT NOT NULL,
    UNIQUE (channel, id)
);
CREATE INDEX message_open ON message (number) WHERE state <> 'done';
CREATE TABLE outbound (
    key TEXT PRIMARY KEY,
    envelope TEXT NOT NULL,
    state TEXT NOT NULL,
    handle TEXT
);
CREATE TABLE cursor (
    channel TEXT PRIMARY KEY,
    cursor TEXT NOT NULL
);
CREATE TABLE session (
    id TEXT PRIMARY KEY,
    tape TEXT NOT NULL,
    caller TEXT
);
CREATE TABLE record_count (
    caller TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
";

/// What version 1 did not have.
const SINCE_1: &str = "
ALTER TABLE session ADD COLUMN caller TEXT;
CREATE TABLE record_count (
    caller TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
";

/// Opens the database, which is made for its owner alone when it is not there.
pub(super) fn open(path: &Path, durability: Durability) -> Result<Connection> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::Os => "NORMAL",
        Durability::Fsync => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match version {
        0 => connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?,
        1 => connection.execute_batch(&format!("BEGIN; {SINCE_1} PRAGMA user_version = {VERSION}; COMMIT;"))?,
        VERSION => {}
        other => bail!("they are of version `{other}`, which this program does not know"),
    }
    connection.set_prepared_statement_cache_capacity(32);
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    ensure!(found == "ok", "they are damaged ({found}): move the file away to begin new ones");
    Ok(connection)
}
