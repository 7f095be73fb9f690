//! Errors of requests.

use std::fmt;

/// Why a request or the reading of its answer failed. The text is one line without path, query, headers or addresses,
/// so that it may be shown to the guest.
///
/// `host` can be parsed by [`Target::parse`](crate::Target::parse): with `http:` before it, it is a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No grant names the host.
    NotGranted {
        /// The host, as a grant would name it.
        host: String,
    },
    /// The host is granted, but it is not on the public internet.
    Private {
        /// The host, as a grant would name it.
        host: String,
        /// Whether its exact name is granted already, so that only a grant of the address would help.
        named: bool,
    },
    /// The request is invalid; the text says why.
    Invalid(String),
    /// The [`Rewrite`](crate::Rewrite) refused the request; the text is its own.
    Refused(String),
    /// More bytes than allowed.
    TooLarge {
        /// `headers`, `request` or `answer`.
        part: &'static str,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// The host took too long to connect, to answer, or to go on answering.
    TimedOut {
        /// The host, as a grant would name it.
        host: String,
    },
    /// The host cannot be found or reached, or does not speak HTTP as it should.
    Failed {
        /// The host, as a grant would name it.
        host: String,
        /// The network error.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotGranted { host } => write!(f, "no grant allows requests to `{host}`"),
            Error::Private { host, named: false } => {
                write!(f, "`{host}` is not on the public internet, and no grant names exactly this host")
            }
            Error::Private { host, named: true } => {
                write!(f, "`{host}` leads to an address that only a grant of the address itself allows")
            }
            Error::Invalid(reason) | Error::Refused(reason) => f.write_str(reason),
            Error::TooLarge { part, limit } => write!(f, "the {part} took more than {limit} bytes"),
            Error::TimedOut { host } => write!(f, "`{host}` took too long"),
            Error::Failed { host, reason } => write!(f, "`{host}`: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
