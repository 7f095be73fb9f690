//! How a request fails.

use std::fmt;

/// What a caller may do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is malformed: a message that is no JSON object, options that may not be set.
    InvalidInput,
    /// The user has to change a setting; the message names it.
    Config,
    /// The server refused, or answered what cannot be understood. Asking again does not help.
    Provider,
    /// The messages are longer than the model takes: send fewer.
    ContextLength,
    /// The server is down, busy or slow. Asking again later may help.
    Temporary,
    /// The request's task was ended from outside.
    Cancelled,
}

/// One line that names the model and what went wrong, with no key, query or control character in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What to do about it.
    pub kind: ErrorKind,
    /// What to show.
    pub message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
