//! Errors of secrets. No text contains a value.

use std::fmt;

/// Why an operation on a secret failed. Guests get a different error for each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The plugin may not use it. The caller names the plugin and the command that would grant it.
    NotGranted {
        /// The secret.
        name: String,
    },
    /// There is no secret of that name.
    NotFound {
        /// The requested name.
        name: String,
    },
    /// The secret may not go to that host, or not over that protocol.
    NotBound {
        /// The secret.
        name: String,
        /// The host and the reason.
        why: String,
    },
    /// The value cannot be read, or cannot be used in that place.
    Unusable {
        /// The secret.
        name: String,
        /// The reason.
        why: String,
    },
    /// Invalid name, host, value or placeholder.
    Invalid(String),
    /// `secrets.toml` cannot be read, is not private, or cannot be written.
    File(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted { name } => write!(f, "secret `{name}` is not granted"),
            Self::NotFound { name } => write!(f, "there is no secret `{name}`"),
            Self::NotBound { name, why } | Self::Unusable { name, why } => write!(f, "secret `{name}` {why}"),
            Self::Invalid(message) | Self::File(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
