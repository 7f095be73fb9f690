//! Why a secret was not used, kept or found. No text here ever holds a value.

use std::fmt;

/// What went wrong. The kinds are those that callers tell apart: a guest gets a different answer for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The plugin may not use it. The caller knows the plugin, and words the command that would grant it.
    NotGranted {
        /// The secret.
        name: String,
    },
    /// There is no secret of that name.
    NotFound {
        /// The name that was asked for.
        name: String,
    },
    /// The secret does not go to that host, or not that way.
    NotBound {
        /// The secret.
        name: String,
        /// Where it does not go, and why.
        why: String,
    },
    /// The secret is known, and its value cannot be had or cannot be put where it was wanted.
    Unusable {
        /// The secret.
        name: String,
        /// What is in the way.
        why: String,
    },
    /// What was given is no name, no host, no value, or no mark.
    Invalid(String),
    /// The file of secrets cannot be read, is not private, or cannot be written.
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
