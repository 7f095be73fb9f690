//! Answers.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::error::Error;
use crate::redact_stream::Redactor;

/// The answer of a host: redirects are not followed, and no status is an error.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: StatusCode,
    /// Without hop-by-hop headers.
    pub headers: HeaderMap,
    /// A stream that is read on demand.
    pub body: Incoming,
}

/// The body of an answer: a stream of non-empty chunks that ends after the first error.
pub struct Incoming {
    chunks: Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>,
}

/// Limits on the reading of an answer's body.
pub struct ReadLimits {
    pub host: String,
    pub limit: u64,
    pub between_bytes: Duration,
    pub started: Instant,
    pub total: Duration,
    pub redactor: Redactor,
}

impl Incoming {
    /// The body of `response`, read within `limits`.
    pub fn new(response: reqwest::Response, mut limits: ReadLimits) -> Incoming {
        let redactor = std::mem::take(&mut limits.redactor);
        let left = limits.limit;
        let rest = RemainingBody { response, limits, left };
        let chunks = futures_util::stream::try_unfold(rest, |mut rest| async move {
            let chunk = rest.next().await?;
            Ok(chunk.map(|chunk| (chunk, rest)))
        });
        match redactor.is_empty() {
            true => Incoming { chunks: Box::pin(chunks) },
            false => Incoming { chunks: Box::pin(redactor.redact_stream(chunks)) },
        }
    }

    /// Reads the whole body.
    ///
    /// # Errors
    ///
    /// The first error of a chunk.
    pub async fn read_all(mut self) -> Result<Bytes, Error> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.next().await {
            whole.extend_from_slice(&chunk?);
        }
        Ok(whole.into())
    }
}

impl Stream for Incoming {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.chunks.as_mut().poll_next(context)
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}

/// The part of the body that was not read yet.
struct RemainingBody {
    response: reqwest::Response,
    limits: ReadLimits,
    /// Remaining bytes within the limit.
    left: u64,
}

impl RemainingBody {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let ReadLimits { host, limit, between_bytes, started, total, .. } = &self.limits;
        loop {
            let wait = total.saturating_sub(started.elapsed()).min(*between_bytes);
            let next = tokio::time::timeout(wait, self.response.chunk()).await;
            let Ok(next) = next else {
                return Err(Error::TimedOut { host: host.clone() });
            };
            let reason = || "the answer broke off".to_owned();
            let Some(chunk) = next.map_err(|_| Error::Failed { host: host.clone(), reason: reason() })? else {
                return Ok(None);
            };
            let too_large = || Error::TooLarge { part: "answer", limit: *limit };
            self.left = self.left.checked_sub(chunk.len() as u64).ok_or_else(too_large)?;
            if !chunk.is_empty() {
                return Ok(Some(chunk));
            }
        }
    }
}
