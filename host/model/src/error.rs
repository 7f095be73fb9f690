//! Errors of requests.

use std::fmt;

/// The kind of an [`Error`]: it determines how a caller can react.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is malformed: a message that is not a JSON object, options that may not be set.
    InvalidInput,
    /// The user has to change a setting; the message names it.
    Config,
    /// The server refused the request, or its answer is invalid. A retry does not help.
    Provider,
    /// The messages exceed the model's context window: send fewer.
    ContextLength,
    /// The server is down, busy or slow. A later retry may help.
    Temporary,
    /// The request's task was cancelled.
    Cancelled,
}

impl ErrorKind {
    /// Its name, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::Config => "config",
            Self::Provider => "provider",
            Self::ContextLength => "context_length",
            Self::Temporary => "temporary",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An error on one line that names the model, without keys, queries and control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// The message.
    pub message: String,
    /// The remedy, with the command or the setting; empty if unknown.
    pub remedy: String,
}

impl Error {
    /// An error without a remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), remedy: String::new() }
    }

    /// Adds a remedy.
    pub fn with_remedy(self, remedy: impl Into<String>) -> Error {
        Error { remedy: remedy.into(), ..self }
    }

    /// The message with the remedy.
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
