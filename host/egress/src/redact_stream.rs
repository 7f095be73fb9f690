//! Takes secrets out of what comes back.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use bub_redact::{Patterns, RedactStream};

/// Replaces given byte strings by `***` in bytes that arrive in chunks, also where one lies across a border of chunks, and
/// however its characters are spelled. Strings that overlap are taken out whole.
///
/// A chunk is held back only as far as its end may be the beginning of such a string.
#[derive(Clone, Default)]
pub struct Redactor {
    patterns: Patterns,
}

impl Redactor {
    /// Hides each of `hidden`; empty strings hide nothing.
    pub fn new(hidden: impl IntoIterator<Item = Vec<u8>>) -> Redactor {
        Redactor { patterns: Patterns::new(hidden) }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// `bytes`, which are all that there is, without what is hidden.
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        self.patterns.redact(bytes)
    }

    /// Whether any hidden string is in `name`.
    pub fn contains_secret(&self, name: &str) -> bool {
        self.patterns.redact(name.as_bytes()) != name.as_bytes()
    }

    /// The chunks without what is hidden. An error ends them, and what was held back is lost with it.
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

/// Says how many strings are hidden, and none of them.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} hidden)", self.patterns.len())
    }
}
