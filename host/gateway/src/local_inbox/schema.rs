//! The schema of the inbox database.

use anyhow::{Result, bail, ensure};
use bub_tape::Durability;
use rusqlite::Connection;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// The version of the schema, in `user_version`.
const VERSION: i64 = 3;

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
    handle TEXT,
    queued TEXT NOT NULL
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

/// From version 1 to version 2.
const UPGRADE_1: &str = "
ALTER TABLE session ADD COLUMN caller TEXT;
CREATE TABLE record_count (
    caller TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
";

/// From version 2 to version 3: the age of an outbound counts from the upgrade.
const UPGRADE_2: &str = "
ALTER TABLE outbound ADD COLUMN queued TEXT NOT NULL DEFAULT '';
UPDATE outbound SET queued = strftime('%Y-%m-%dT%H:%M:%fZ', 'now');
";

/// Opens the database. A new one is readable by its owner alone.
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
        0 => migrate(&connection, TABLES)?,
        1 => migrate(&connection, &format!("{UPGRADE_1} {UPGRADE_2}"))?,
        2 => migrate(&connection, UPGRADE_2)?,
        VERSION => {}
        other => bail!("its version `{other}` is newer than this program: update the program"),
    }
    connection.set_prepared_statement_cache_capacity(32);
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    ensure!(found == "ok", "it is damaged ({found}): move the file away to start with an empty one");
    Ok(connection)
}

fn migrate(connection: &Connection, statements: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("BEGIN; {statements} PRAGMA user_version = {VERSION}; COMMIT;"))
}
