//! Request bodies.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use crate::error::Error;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// A request's body: bytes, or a stream of chunks.
pub struct Body {
    inner: Inner,
}

enum Inner {
    Whole(Bytes),
    Chunks { chunks: Chunks, length: Option<u64> },
}

impl Body {
    /// No body.
    pub fn empty() -> Body {
        Body::from(Bytes::new())
    }

    /// A stream of chunks, of `length` bytes in total if known. The request fails at the first chunk that is an error,
    /// and if the stream is longer or shorter than `length`.
    pub fn chunks<S, E>(chunks: S, length: Option<u64>) -> Body
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let chunks = chunks.map(|chunk| chunk.map_err(Into::into));
        Body { inner: Inner::Chunks { chunks: Box::pin(chunks), length } }
    }

    /// The body for reqwest, and its length where it is known.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if its declared length exceeds `limit` bytes. A stream that turns out to be longer fails
    /// while it is sent, with the same error as a source.
    pub fn into_reqwest(self, limit: u64) -> Result<(reqwest::Body, Option<u64>), Error> {
        let too_large = Error::TooLarge { part: "request", limit };
        match self.inner {
            Inner::Whole(bytes) if bytes.len() as u64 > limit => Err(too_large),
            Inner::Whole(bytes) => {
                let length = bytes.len() as u64;
                Ok((bytes.into(), Some(length)))
            }
            Inner::Chunks { length: Some(length), .. } if length > limit => Err(too_large),
            Inner::Chunks { chunks, length } => {
                let checked = LengthChecked { chunks, length, limit, seen: 0, ended: false };
                Ok((reqwest::Body::wrap_stream(checked), length))
            }
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Body {
        Body { inner: Inner::Whole(bytes) }
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Body {
        Body::from(Bytes::from_static(text.as_bytes()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Inner::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Inner::Chunks { length: Some(length), .. } => write!(f, "Body(chunks of {length} bytes)"),
            Inner::Chunks { length: None, .. } => f.write_str("Body(chunks)"),
        }
    }
}

/// A stream that is checked against its declared length and the limit.
struct LengthChecked {
    chunks: Chunks,
    length: Option<u64>,
    limit: u64,
    seen: u64,
    ended: bool,
}

impl LengthChecked {
    fn check(&mut self, next: Option<Result<Bytes, BoxError>>) -> Option<Result<Bytes, BoxError>> {
        let wrong_length = || Error::Invalid("the body's length differs from the declared one".to_owned());
        let error: BoxError = match next {
            None if self.length.is_some_and(|length| length != self.seen) => wrong_length().into(),
            None => return None,
            Some(Err(error)) => error,
            Some(Ok(chunk)) => {
                self.seen = self.seen.saturating_add(chunk.len() as u64);
                if self.seen > self.limit {
                    Error::TooLarge { part: "request", limit: self.limit }.into()
                } else if self.length.is_some_and(|length| self.seen > length) {
                    wrong_length().into()
                } else {
                    return Some(Ok(chunk));
                }
            }
        };
        self.ended = true;
        Some(Err(error))
    }
}

impl Stream for LengthChecked {
    type Item = Result<Bytes, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.chunks.as_mut().poll_next(context).map(|next| self.check(next))
    }
}
