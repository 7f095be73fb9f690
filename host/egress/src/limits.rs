//! Limits of a request.

use std::time::Duration;

/// Limits of one request. The caller limits the number of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of names and values, of a request's headers and of an answer's. 128 KiB.
    pub headers: u64,
    /// Bytes of a request's body. 8 MiB.
    pub request: u64,
    /// Bytes of an answer's body. 16 MiB.
    pub answer: u64,
    /// From sending a request to the head of its answer, with looking up the name and connecting. 60 s.
    pub first_byte: Duration,
    /// Between two segments of an answer's body. 60 s.
    pub between_bytes: Duration,
    /// From sending a request to the end of its answer. 10 min.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            headers: 128 << 10,
            request: 8 << 20,
            answer: 16 << 20,
            first_byte: Duration::from_secs(60),
            between_bytes: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}
