//! Conversion of SQLite's errors.

use std::io::{self, ErrorKind};

use rusqlite::ErrorCode;

use super::super::error::Error;

pub(super) const NO_DATABASE: &str = "the file is not a SQLite database";

/// Converts an error of an action on the database.
pub(super) fn failed(action: &str) -> impl Fn(rusqlite::Error) -> Error {
    let action = action.to_owned();
    move |error| Error::Io { action: action.clone(), source: source(error) }
}

fn source(error: rusqlite::Error) -> io::Error {
    let (kind, text) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::TimedOut, "another process has been writing for 5 seconds")
        }
        Some(ErrorCode::DiskFull) => return ErrorKind::StorageFull.into(),
        Some(ErrorCode::ReadOnly) => (ErrorKind::PermissionDenied, "the database can only be read"),
        Some(ErrorCode::PermissionDenied) => return ErrorKind::PermissionDenied.into(),
        Some(ErrorCode::NotADatabase) => (ErrorKind::InvalidData, NO_DATABASE),
        Some(ErrorCode::DatabaseCorrupt) => {
            (ErrorKind::InvalidData, "the database is damaged: `sqlite3 FILE .recover` may save what it holds")
        }
        Some(ErrorCode::CannotOpen) => (ErrorKind::Other, "the file, or SQLite's log beside it, cannot be opened"),
        _ => return io::Error::other(error.to_string()),
    };
    io::Error::new(kind, text)
}
