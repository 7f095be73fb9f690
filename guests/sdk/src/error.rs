//! Errors: the record `error` of the contracts, and how other errors become one.

use serde::Serialize;
use std::fmt::Display;

pub use crate::wit::bub::types::types::{Error, ErrorKind};

/// The result of a hook, a tool or a call of the host.
///
/// ```
/// use bub_guest::{Context, Result};
///
/// fn port(text: &str) -> Result<u16> {
///     text.trim().parse().context("`port` must be a number")
/// }
/// assert_eq!(port("x").unwrap_err().message, "`port` must be a number: invalid digit found in string");
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of that kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }

    /// The caller passed something that it can correct: the message says what, and what to do about it.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// The plugin's configuration is missing something, or does not work.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// The requested item does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A tool did not succeed, and another call with the same arguments would not either.
    pub fn tool(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Tool, message)
    }

    /// A later attempt may succeed.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Temporary, message)
    }

    /// The same error with details, which serialize to a JSON object such as `{"retry_after": 5}`.
    #[must_use]
    pub fn with_details<T: Serialize>(self, details: &T) -> Self {
        Self { details: serde_json::to_string(details).ok(), ..self }
    }
}

/// The message of a JSON error, without a line and column if the JSON did not come from a text.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let reason = error.to_string();
    reason.rsplit_once(" at line ").map(|(reason, _)| reason.to_owned()).unwrap_or(reason)
}

/// Errors that become an [`Error`] with `?`, each with its kind.
macro_rules! convert {
    ($($error:ty => $kind:ident),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::new(ErrorKind::$kind, error.to_string())
            }
        })*
    };
}

convert! {
    serde_json::Error => InvalidInput,
    std::num::ParseIntError => InvalidInput,
    std::num::ParseFloatError => InvalidInput,
    std::str::Utf8Error => InvalidInput,
    std::string::FromUtf8Error => InvalidInput,
    std::fmt::Error => Unknown,
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::Interrupted => ErrorKind::Temporary,
            std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData => ErrorKind::InvalidInput,
            _ => ErrorKind::Unknown,
        };
        Self::new(kind, error.to_string())
    }
}

/// Puts in front of an error what was being done. The kind stays; a missing value is `not-found`.
pub trait Context<T> {
    /// `context: the error's message`.
    ///
    /// # Errors
    ///
    /// The same, with the context.
    fn context(self, context: impl Display) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, context: impl Display) -> Result<T> {
        self.map_err(|error| {
            let error = error.into();
            Error { message: format!("{context}: {}", error.message), ..error }
        })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, context: impl Display) -> Result<T> {
        self.ok_or_else(|| Error::not_found(context.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_another_crate_keeps_its_message_and_gets_a_kind() {
        fn parse() -> Result<u8> {
            Ok("300".parse::<u8>()?)
        }
        assert_eq!(parse().unwrap_err().kind, ErrorKind::InvalidInput);
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(Error::from(gone).kind, ErrorKind::NotFound);
    }

    #[test]
    fn context_keeps_the_kind_and_the_details() {
        let error = Error::temporary("busy").with_details(&serde_json::json!({ "retry_after": 5 }));
        let error = Err::<(), _>(error).context("asking `a`").unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Temporary, "asking `a`: busy"));
        assert_eq!(error.details.as_deref(), Some(r#"{"retry_after":5}"#));
        assert_eq!(None::<()>.context("no key `a`").unwrap_err(), Error::not_found("no key `a`"));
    }
}
