//! Errors of tape operations.

use super::holder::Holder;
use bub_types::text::plain;
use std::fmt;
use std::io;
use std::time::Duration;

/// Why a tape could not be read or written.
#[derive(Debug)]
pub enum Error {
    /// An I/O error. `action` names the attempted operation and the tape.
    Io {
        /// The attempted action.
        action: String,
        /// The system error.
        source: io::Error,
    },
    /// There is no such anchor or tape.
    NotFound(String),
    /// Invalid input, or input that cannot be stored.
    InvalidInput(String),
    /// Another writer appended first.
    Conflict {
        /// The last id of the tape now.
        last: u64,
    },
    /// Another turn holds the session's lease.
    Busy {
        /// How long the lease was waited for.
        waited: Duration,
        /// The process that holds it, if known.
        holder: Option<Holder>,
    },
    /// Another process has claimed, or may have claimed, the lease under which this one wrote. Nothing was written.
    LeaseLost {
        /// The lease.
        lease: String,
    },
}

/// Result of a tape operation.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An [`Error::InvalidInput`] with that message.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidInput(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The cause is part of the text and not a `source()`, so that chains do not print it twice.
            Self::Io { action, source } => write!(f, "{action}: {}", plain(&source.to_string())),
            Self::NotFound(message) | Self::InvalidInput(message) => f.write_str(message),
            Self::Conflict { last } => {
                write!(f, "another process wrote first: the last id is {last}")
            }
            Self::LeaseLost { lease } => {
                write!(f, "another process has taken over `{lease}`, so nothing more is written here")
            }
            Self::Busy { waited, holder } => {
                let who = holder.as_ref().map_or_else(String::new, |holder| format!(" in {holder}"));
                let waited = waited.as_secs_f64();
                write!(
                    f,
                    "another turn of this session still runs{who}, after {waited} seconds; wait for its end, take another session by `--session-id`, or raise `lock_wait` of config.toml"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

/// Converts to an error of the contract, for plugins.
impl From<Error> for bub_types::Error {
    fn from(error: Error) -> Self {
        use bub_types::ErrorKind;
        let kind = match &error {
            Error::Io { .. } | Error::Busy { .. } => ErrorKind::Temporary,
            Error::NotFound(_) => ErrorKind::NotFound,
            Error::InvalidInput(_) => ErrorKind::InvalidInput,
            Error::Conflict { .. } => ErrorKind::Conflict,
            // As when the turn is cancelled otherwise: nothing that it tries can help.
            Error::LeaseLost { .. } => ErrorKind::Cancelled,
        };
        Self::new(kind, error.to_string())
    }
}
