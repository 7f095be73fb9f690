//! Why a connection is not made.

use bub_egress::{Destination, Error};
use bub_types::text::one_line;

/// Characters of a reason that a program is shown.
const MAX_REASON: usize = 300;

/// The kind of a refusal, in the words of both protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The request makes no sense.
    Invalid,
    /// It is not allowed.
    Denied,
    /// The host did not answer.
    Unreachable,
    /// It took too long.
    TimedOut,
}

/// A refusal, with one line for the program.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) kind: Kind,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(kind: Kind, why: &str) -> Self {
        Self { kind, why: one_line(why).chars().take(MAX_REASON).collect() }
    }

    /// The refusal for an error of a connection.
    pub(crate) fn of(error: &Error, destination: &Destination) -> Self {
        match error {
            Error::Private { named: false, .. } => Self::new(
                Kind::Denied,
                &format!("`{destination}` is not on the public internet, and no rule names exactly this host"),
            ),
            Error::Private { .. } => {
                Self::new(Kind::Denied, &format!("`{destination}` leads to an address that programs never reach"))
            }
            Error::NotGranted { .. } | Error::Refused(_) => Self::new(Kind::Denied, &error.to_string()),
            Error::Invalid(_) | Error::TooLarge { part: "headers" | "request", .. } => {
                Self::new(Kind::Invalid, &error.to_string())
            }
            Error::TimedOut { .. } => Self::new(Kind::TimedOut, &error.to_string()),
            _ => Self::new(Kind::Unreachable, &error.to_string()),
        }
    }

    /// The status of an HTTP answer.
    pub(crate) fn status(&self) -> hyper::StatusCode {
        match self.kind {
            Kind::Invalid => hyper::StatusCode::BAD_REQUEST,
            Kind::Denied => hyper::StatusCode::FORBIDDEN,
            Kind::Unreachable => hyper::StatusCode::BAD_GATEWAY,
            Kind::TimedOut => hyper::StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The reply of SOCKS5 (RFC 1928, section 6).
    pub(crate) fn reply(&self) -> u8 {
        match self.kind {
            Kind::Invalid => 1,
            Kind::Denied => 2,
            Kind::Unreachable => 4,
            Kind::TimedOut => 6,
        }
    }
}
