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
    /// What the user can do about it, with the command or the setting that does it; empty where nothing is known.
    pub remedy: String,
}

impl Error {
    /// An error without a remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), remedy: String::new() }
    }

    /// The same with what can be done about it.
    pub fn with_remedy(self, remedy: impl Into<String>) -> Error {
        Error { remedy: remedy.into(), ..self }
    }

    /// What is wrong, and what can be done about it.
    pub fn told(&self) -> String {
        match self.remedy.as_str() {
            "" => self.message.clone(),
            remedy => format!("{}; {remedy}", self.message),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
