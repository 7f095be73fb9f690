//! Why there is no response.

use crate::ErrorKind;

/// Why a request has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub failure: Failure,
    /// The same for people.
    pub message: String,
}

/// The ways in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The host does not let it through: a grant is missing, or a secret must not go there. Its log says more.
    Denied,
    /// The host's address is not public, and no grant names exactly that host.
    PrivateAddress,
    /// The URL, or a header, cannot be sent.
    Invalid,
    /// The body of the request is larger than the host allows, in bytes.
    RequestTooLarge(Option<u64>),
    /// The body of the response is larger than the host allows, in bytes.
    ResponseTooLarge(Option<u64>),
    /// It took too long.
    Timeout,
    /// The connection did not come about, or broke.
    Broken,
}

impl Error {
    /// An error with its message.
    pub fn new(failure: Failure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into() }
    }

    pub(crate) fn invalid_url(url: &str) -> Self {
        Self::new(Failure::Invalid, format!("`{url}` is no address"))
    }

    /// Whether a later attempt may succeed.
    pub fn is_temporary(&self) -> bool {
        matches!(self.failure, Failure::Timeout | Failure::Broken)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for crate::Error {
    fn from(error: Error) -> Self {
        let kind = match error.failure {
            Failure::Denied | Failure::PrivateAddress => ErrorKind::Denied,
            Failure::Invalid | Failure::RequestTooLarge(_) => ErrorKind::InvalidInput,
            Failure::ResponseTooLarge(_) => ErrorKind::Tool,
            Failure::Timeout | Failure::Broken => ErrorKind::Temporary,
        };
        Self::new(kind, error.message)
    }
}
