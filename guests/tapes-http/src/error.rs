//! Errors for the host.

use crate::bub::types::types::{Error, ErrorKind};

pub fn error(kind: ErrorKind, message: impl Into<String>) -> Error {
    Error { kind, message: message.into(), details: None }
}

/// A temporary failure, after all retries.
pub fn failed(message: impl Into<String>) -> Error {
    error(ErrorKind::Temporary, message)
}

/// An invalid configuration.
pub fn misconfigured(message: impl Into<String>) -> Error {
    error(ErrorKind::Config, message)
}
