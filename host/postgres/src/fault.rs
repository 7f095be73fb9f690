//! PostgreSQL's errors in words.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use bub_tape::Error;
use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::error::SqlState;

/// Converts an error of an action on the database.
pub(crate) fn failed(action: &str) -> impl Fn(tokio_postgres::Error) -> Error {
    let action = action.to_owned();
    move |error| Error::Io { action: action.clone(), source: source(&error) }
}

/// Converts a failure to get a connection.
pub(crate) fn no_connection(action: &str, error: PoolError) -> Error {
    let source = match error {
        PoolError::Backend(error) => source(&error),
        PoolError::Timeout(TimeoutType::Wait) => {
            io::Error::new(ErrorKind::TimedOut, "all connections to the database have been in use for 5 seconds")
        }
        PoolError::Timeout(_) => not_answering(),
        other => io::Error::other(other.to_string()),
    };
    Error::Io { action: action.to_owned(), source }
}

/// The server was silent for longer than any statement may last.
pub(crate) fn silent(action: &str) -> Error {
    Error::Io { action: action.to_owned(), source: not_answering() }
}

/// Whether the connection ended, so that the outcome is unknown.
pub(crate) fn is_lost(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || error.source().is_some_and(|cause| cause.is::<io::Error>()) || is_stopping(error)
}

/// Whether another transaction was in the way, so that the same one can be tried again.
pub(crate) fn is_collision(error: &tokio_postgres::Error) -> bool {
    let codes = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE, SqlState::UNIQUE_VIOLATION];
    error.code().is_some_and(|code| codes.contains(code))
}

fn is_stopping(error: &tokio_postgres::Error) -> bool {
    let codes = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.code().is_some_and(|code| codes.contains(code))
}

fn not_answering() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the database does not answer")
}

fn source(error: &tokio_postgres::Error) -> io::Error {
    let Some(refusal) = error.as_db_error() else { return unreachable(error) };
    let (code, message) = (refusal.code(), refusal.message());
    let (kind, text) = if is_stopping(error) {
        (ErrorKind::ConnectionReset, format!("the database is starting or stopping: {message}"))
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        (ErrorKind::PermissionDenied, READ_ONLY.to_owned())
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        let text = "the database has no connection left: raise its `max_connections`, or put a pooler in front";
        (ErrorKind::ResourceBusy, text.to_owned())
    } else if [SqlState::DISK_FULL, SqlState::INSUFFICIENT_RESOURCES].contains(code) {
        (ErrorKind::StorageFull, "the database's disk is full".to_owned())
    } else if *code == SqlState::QUERY_CANCELED {
        (ErrorKind::TimedOut, "the database ended the statement, which took too long".to_owned())
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        (
            ErrorKind::TimedOut,
            "another process has been writing for longer than the `lock_timeout` of the database".to_owned(),
        )
    } else if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
        let text = format!("the database refuses the user: {message}: {PASSWORD}");
        (ErrorKind::PermissionDenied, text)
    } else if [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code) {
        (ErrorKind::Unsupported, POOLER.to_owned())
    } else if *code == SqlState::PROTOCOL_VIOLATION && message.contains("startup parameter") {
        let text = format!("the pooler says: {message}: give PgBouncer `ignore_startup_parameters = options`");
        (ErrorKind::Unsupported, text)
    } else if *code == SqlState::UNDEFINED_DATABASE {
        (ErrorKind::NotFound, format!("{message}: `createdb` makes it"))
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        (ErrorKind::PermissionDenied, format!("the database refuses: {message}"))
    } else {
        (ErrorKind::Other, format!("the database says: {message} ({})", code.code()))
    };
    io::Error::new(kind, text)
}

/// The words for a database that takes no writes.
pub(crate) const READ_ONLY: &str = "the database can only be read: it is a standby, or set to read-only";

/// The words for a pooler under which a prepared statement is on another connection.
const POOLER: &str = "the pooler in front of the database loses prepared statements: give PgBouncer 1.21 or later \
                      `max_prepared_statements`, or an older one `pool_mode = session`";

/// The advice about a password.
const PASSWORD: &str = "`bub-wasm secret set postgres --host HOST` stores the password";

/// An error of the connection, or of TLS.
fn unreachable(error: &tokio_postgres::Error) -> io::Error {
    let text = error.to_string();
    let Some(cause) = error.source() else {
        return match error.is_closed() {
            true => io::Error::new(ErrorKind::ConnectionReset, "the connection to the database ended"),
            false => io::Error::other(text),
        };
    };
    if cause.to_string() == "password missing" {
        let text = format!("the database asks for a password: {PASSWORD}");
        return io::Error::new(ErrorKind::PermissionDenied, text);
    }
    // The connection's own message is only where it failed; the system's says why.
    let kind = cause.downcast_ref::<io::Error>().map_or(ErrorKind::Other, io::Error::kind);
    let words = match kind {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => format!("the database cannot be reached: {cause}"),
        ErrorKind::TimedOut => "the database does not answer".to_owned(),
        // Of `target_session_attrs`, where no server takes writes, as before a standby is promoted.
        ErrorKind::PermissionDenied if cause.to_string() == "database does not allow writes" => READ_ONLY.to_owned(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the connection to the database ended".to_owned()
        }
        _ => format!("{text}: {cause}"),
    };
    io::Error::new(kind, words)
}
