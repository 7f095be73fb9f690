//! Errors as the host shows them.

use crate::bub::types::types::{Error, ErrorKind};

pub fn error(kind: ErrorKind, message: impl Into<String>) -> Error {
    Error { kind, message: message.into(), details: None }
}

/// Trying again may help, but not here: that was done.
pub fn failed(message: impl Into<String>) -> Error {
    error(ErrorKind::Temporary, message)
}

/// Something stands in the configuration that cannot be meant.
pub fn misconfigured(message: impl Into<String>) -> Error {
    error(ErrorKind::Config, message)
}
