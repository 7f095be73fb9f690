//! Errors of operations on programs.

use bub_types::text::plain;
use std::fmt;
use std::io;

/// Why a program could not be started, found or ended.
#[derive(Debug)]
pub enum Error {
    /// The arguments are invalid.
    InvalidInput(String),
    /// The session has no program of that id, or no longer.
    NotFound(String),
    /// Too many programs run already; a retry helps once one of them has ended.
    Busy(String),
    /// A server has ended, or gets no more; a retry starts it again.
    Ended(String),
    /// A server wrote more than is taken.
    Flooded(String),
    /// The system refused. `action` says what was attempted.
    Io {
        /// The attempted action.
        action: String,
        /// The system error.
        source: io::Error,
    },
}

/// Result of an operation on a program.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidInput(message)
            | Self::NotFound(message)
            | Self::Busy(message)
            | Self::Ended(message)
            | Self::Flooded(message) => f.write_str(message),
            // The cause is part of the text and not a `source()`, so that chains do not print it twice.
            Self::Io { action, source } => write!(f, "{action}: {}", plain(&source.to_string())),
        }
    }
}

impl std::error::Error for Error {}
