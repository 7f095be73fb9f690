//! Construction and names of errors.

use crate::bub::types::types::{Error, ErrorKind};

impl Error {
    pub fn new(kind: ErrorKind, message: String) -> Error {
        Error { kind, message, details: None }
    }
}

impl ErrorKind {
    /// The name on tapes.
    pub fn tape_name(self) -> &'static str {
        match self {
            ErrorKind::InvalidInput => "invalid_input",
            ErrorKind::Config => "config",
            ErrorKind::Provider => "provider",
            ErrorKind::ContextLength => "context_length",
            ErrorKind::Tool => "tool",
            ErrorKind::Temporary => "temporary",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Denied => "denied",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Unknown => "unknown",
        }
    }
}
