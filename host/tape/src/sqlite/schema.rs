//! Opening of connections, and the schema.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::super::Durability;
use super::super::error::{Error, Result};
use super::fault::failed;

/// How long a write waits for another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Size in bytes to which the write-ahead log is truncated after a large write.
const LOG_LIMIT: i64 = 16 * 1024 * 1024;

/// SQLite's application id of these files: `bubw`.
const APPLICATION_ID: i32 = 0x6275_6277;

/// The version of the schema.
const VERSION: i32 = 1;

/// An entry's `place` is its tape's number, shifted by [`SHIFT`](super::read::SHIFT), plus its id: a tape's entries are
/// contiguous and in order, also in every index. Numbers are never reused.
///
/// `gram` contains no text, only the grams (see [`grams`](super::grams)) of the entry at a place, for a tape's entries
/// up to the id `indexed`. `info` is recomputed if it cannot be read.
const TABLES: &str = "
    CREATE TABLE tape (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        archive INTEGER NOT NULL,
        listed INTEGER NOT NULL,
        info TEXT NOT NULL,
        indexed INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX tape_listed ON tape (name) WHERE listed = 1;
    CREATE TABLE entry (
        place INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        meta TEXT NOT NULL,
        date TEXT NOT NULL,
        name TEXT,
        phase INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX entry_kind ON entry (kind);
    CREATE INDEX entry_name ON entry (kind, name) WHERE name IS NOT NULL;
    CREATE INDEX entry_phase ON entry (phase) WHERE phase = 1;
    CREATE TABLE merged (tape TEXT PRIMARY KEY, key TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE VIRTUAL TABLE gram USING fts5(
        grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
    );
";

/// The write connection. Creates the tables in an empty file.
pub(super) fn writer(path: &Path, durability: Durability) -> Result<Connection> {
    let action = action(path);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed(&action))?;
    // One transaction: another process may be creating the tables.
    let seen = connection.transaction().map_err(failed(&action))?;
    let ours = is_ours(path, &seen)?;
    seen.finish().map_err(failed(&action))?;
    if !ours {
        make(path, &mut connection)?;
    }
    let settle = || {
        log_ahead(&connection)?;
        // With `NORMAL` a power loss loses the last writes only.
        let synchronous = if durability == Durability::Fsync { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", synchronous)?;
        // Overwrites deleted content in the file.
        connection.pragma_update(None, "secure_delete", true)?;
        connection.pragma_update(None, "journal_size_limit", LOG_LIMIT)
    };
    settle().map_err(failed(&action))?;
    Ok(connection)
}

/// A read-only connection.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

pub(super) fn action(path: &Path) -> String {
    format!("open the tapes in `{}`", path.display())
}

fn connect(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    // A crafted file must not run code or corrupt itself (`trusted_schema`, `defensive`).
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Whether the tables exist; `false` for an empty file.
fn is_ours(path: &Path, connection: &Connection) -> Result<bool> {
    let number =
        |query: &str| connection.query_row(query, (), |row| row.get::<_, i32>(0)).map_err(failed(&action(path)));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let path = path.display();
    match (application, version) {
        (APPLICATION_ID, VERSION) => Ok(true),
        (APPLICATION_ID, _) => Err(Error::invalid(format!(
            "the tapes in `{path}` are of version {version}, and this program reads version {VERSION}: use the program \
             that wrote them"
        ))),
        (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(false),
        _ => Err(Error::invalid(format!(
            "`{path}` is a database of another program: name a file of its own for the tapes"
        ))),
    }
}

fn make(path: &Path, connection: &mut Connection) -> Result<()> {
    let action = action(path);
    let failed = failed(&action);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    // Another process may have created them meanwhile.
    if is_ours(path, &transaction)? {
        return Ok(());
    }
    transaction.execute_batch(TABLES).map_err(&failed)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(&failed)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(&failed)?;
    transaction.commit().map_err(&failed)
}

/// Switches to the write-ahead log, which the database keeps. SQLite does not wait here for a concurrent reader.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let pause = Duration::from_millis(10);
    let mut left = LOCK_TIMEOUT;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && !left.is_zero() => {
                thread::sleep(pause);
                left = left.saturating_sub(pause);
            }
            done => return done,
        }
    }
}
