//! Opening of the file, and the schema.

use rusqlite::{Connection, ErrorCode};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// How long a write waits for another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The version of the schema and of the splitting into passages and terms.
const VERSION: i32 = 2;

/// `term` has the terms of a passage as words, for whole matches; `gram` has its trigrams, for parts of words. Neither
/// stores the text.
const TABLES: &str = "
    CREATE TABLE tape (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        last INTEGER NOT NULL,
        print TEXT NOT NULL,
        fold TEXT NOT NULL
    ) STRICT;
    CREATE TABLE passage (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        tape INTEGER NOT NULL,
        entry INTEGER NOT NULL,
        source INTEGER NOT NULL,
        text TEXT NOT NULL,
        date TEXT NOT NULL,
        taint TEXT NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;
    CREATE INDEX passage_entry ON passage (tape, entry);
    CREATE INDEX passage_digest ON passage (digest);
    CREATE VIRTUAL TABLE term USING fts5(
        terms, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
    );
    CREATE VIRTUAL TABLE gram USING fts5(text, content = '', contentless_delete = 1, tokenize = 'trigram');
    CREATE TABLE vector (
        digest BLOB NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (digest, model)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE baseline (
        model TEXT PRIMARY KEY, median REAL NOT NULL, spread REAL NOT NULL, sample TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// Opens the index. A damaged one, or one of another version, is rebuilt with a log message.
pub(super) fn open(path: &Path) -> Result<Connection, String> {
    let plain = |error: &dyn std::fmt::Display| bub_types::text::plain(&error.to_string());
    match attempt(path) {
        Ok(connection) => Ok(connection),
        Err(OpenError::Content(why)) => {
            tracing::warn!("the index `{}` is made anew: {why}", path.display());
            remove(path).map_err(|error| plain(&error))?;
            attempt(path).map_err(|broken| match broken {
                OpenError::Content(why) => why,
                OpenError::Access(error) => plain(&error),
            })
        }
        Err(OpenError::Access(error)) => Err(plain(&error)),
    }
}

enum OpenError {
    /// The content is unusable.
    Content(String),
    /// The file is inaccessible, but may be intact.
    Access(io::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::DiskFull)
            | Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::SystemIoFailure) => {
                Self::Access(io::Error::other(error))
            }
            _ => Self::Content(bub_types::text::plain(&error.to_string())),
        }
    }
}

fn attempt(path: &Path) -> Result<Connection, OpenError> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(OpenError::Access)?;
    }
    // Before SQLite creates it with a mode that depends on the umask.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(OpenError::Access)?;
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The index can be rebuilt.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        VERSION => {}
        0 => {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        other => return Err(OpenError::Content(format!("it is of version {other}, and this program makes {VERSION}"))),
    }
    transaction.commit()?;
    Ok(connection)
}

fn remove(path: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
