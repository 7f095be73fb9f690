//! Redaction of answers.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use bub_redact::{Patterns, RedactStream};

/// Replaces given byte strings by `***` in a stream of chunks, also across chunks and in all their encodings.
/// Overlapping strings are replaced as one.
///
/// Only bytes that may begin such a string are held back.
#[derive(Clone, Default)]
pub struct Redactor {
    patterns: Patterns,
}

impl Redactor {
    /// A redactor of the strings in `hidden`; empty ones are ignored.
    pub fn new(hidden: impl IntoIterator<Item = Vec<u8>>) -> Redactor {
        Redactor { patterns: Patterns::new(hidden) }
    }

    /// Whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Redacts a complete byte string.
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        self.patterns.redact(bytes)
    }

    /// Whether `name` contains a secret.
    pub fn contains_secret(&self, name: &str) -> bool {
        self.patterns.redact(name.as_bytes()) != name.as_bytes()
    }

    /// Redacts a stream. An error ends it and drops what was held back.
    pub fn redact_stream<S, E>(self, chunks: S) -> impl Stream<Item = Result<Bytes, E>> + Send
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Send + 'static,
    {
        let chunks: Option<Pin<Box<S>>> = Some(Box::pin(chunks));
        let stream = RedactStream::new(&self.patterns);
        futures_util::stream::unfold((chunks, stream), |(mut chunks, mut stream)| async move {
            loop {
                let (passed, rest) = match chunks.as_mut()?.next().await {
                    Some(Ok(chunk)) => (stream.push(&chunk), chunks.take()),
                    Some(Err(error)) => return Some((Err(error), (None, stream))),
                    None => (stream.finish(), None),
                };
                chunks = rest;
                if !passed.is_empty() {
                    return Some((Ok(Bytes::from(passed)), (chunks, stream)));
                }
            }
        })
    }
}

/// Shows the number of strings only.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} hidden)", self.patterns.len())
    }
}
