//! Finds known secrets in what leaves as plain HTTP.

use bub_redact::{Patterns, RedactStream};
use bytes::Bytes;
use std::collections::VecDeque;

/// Passes a stream on up to the first secret in it, also across chunks and in all their encodings. What may begin a secret
/// is held back.
pub(crate) struct Leak {
    streams: Vec<RedactStream>,
    /// What was read and not yet passed on.
    held: VecDeque<u8>,
}

impl Leak {
    pub(crate) fn new(secrets: &[Patterns]) -> Self {
        let known = secrets.iter().filter(|patterns| !patterns.is_empty());
        Self { streams: known.map(RedactStream::new).collect(), held: VecDeque::new() }
    }

    /// What may leave after that chunk; none: it completes a secret.
    pub(crate) fn pass(&mut self, chunk: Bytes) -> Option<Bytes> {
        if self.streams.is_empty() {
            return Some(chunk);
        }
        self.held.extend(chunk.iter().copied());
        let passed = self.streams.iter_mut().fold(chunk.to_vec(), |bytes, stream| stream.push(&bytes));
        self.is_unchanged(&passed).then(|| passed.into())
    }

    /// What may leave at the end; none: it completes a secret.
    pub(crate) fn finish(&mut self) -> Option<Bytes> {
        let passed = self.streams.iter_mut().fold(Vec::new(), |bytes, stream| {
            let mut passed = stream.push(&bytes);
            passed.extend(stream.finish());
            passed
        });
        self.is_unchanged(&passed).then(|| passed.into()).filter(|_| self.held.is_empty())
    }

    /// Whether what was passed on is what was read.
    fn is_unchanged(&mut self, passed: &[u8]) -> bool {
        passed.len() <= self.held.len() && self.held.drain(..passed.len()).eq(passed.iter().copied())
    }
}

/// Whether a complete text tells a secret.
pub(crate) fn is_in_text(secrets: &[Patterns], text: &[u8]) -> bool {
    secrets.iter().any(|patterns| !patterns.is_empty() && patterns.redact(text) != text)
}
