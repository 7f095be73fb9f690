//! Takes secrets out of what comes back.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

const STARS: &[u8] = b"***";

/// Replaces given byte strings by `***` in bytes that arrive in chunks, also where one lies across a border of chunks.
/// Strings that overlap are taken out whole.
///
/// A chunk is held back only as far as its end may be the beginning of such a string.
#[derive(Clone, Default)]
pub struct Scrub {
    hidden: Vec<Vec<u8>>,
    /// Bytes that have come and not gone on.
    held: Vec<u8>,
    /// How many of the bytes that come next belong to a string that was found.
    covered: usize,
}

impl Scrub {
    /// Hides each of `hidden`; empty strings hide nothing.
    pub fn new(hidden: impl IntoIterator<Item = Vec<u8>>) -> Scrub {
        let hidden = hidden.into_iter().filter(|one| !one.is_empty()).collect();
        Scrub { hidden, ..Scrub::default() }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty()
    }

    /// `bytes`, which are all that there is, without what is hidden.
    pub fn whole(&self, bytes: &[u8]) -> Vec<u8> {
        let mut scrub = Scrub::new(self.hidden.iter().cloned());
        scrub.held.extend_from_slice(bytes);
        scrub.take(true)
    }

    /// Whether any hidden string is in `name`, whose letters have lost their case.
    pub(crate) fn is_in_name(&self, name: &str) -> bool {
        self.hidden
            .iter()
            .any(|hidden| name.as_bytes().windows(hidden.len()).any(|window| window.eq_ignore_ascii_case(hidden)))
    }

    /// The chunks without what is hidden. An error ends them, and what was held back is lost with it.
    pub fn over<S, E>(self, chunks: S) -> impl Stream<Item = Result<Bytes, E>> + Send
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Send + 'static,
    {
        let chunks: Option<Pin<Box<S>>> = Some(Box::pin(chunks));
        futures_util::stream::unfold((chunks, self), |(mut chunks, mut scrub)| async move {
            loop {
                let (passed, rest) = match chunks.as_mut()?.next().await {
                    Some(Ok(chunk)) => {
                        scrub.held.extend_from_slice(&chunk);
                        (scrub.take(false), chunks.take())
                    }
                    Some(Err(error)) => return Some((Err(error), (None, scrub))),
                    None => (scrub.take(true), None),
                };
                chunks = rest;
                if !passed.is_empty() {
                    return Some((Ok(Bytes::from(passed)), (chunks, scrub)));
                }
            }
        })
    }

    /// Takes out of `held` what may go on: all of it, when nothing more comes.
    fn take(&mut self, is_end: bool) -> Vec<u8> {
        let mut passed = Vec::with_capacity(self.held.len());
        let mut seen = 0;
        while let Some(rest) = self.held.get(seen..).filter(|rest| !rest.is_empty()) {
            if !is_end && self.hidden.iter().any(|hidden| hidden.len() > rest.len() && hidden.starts_with(rest)) {
                break;
            }
            let longest = self.hidden.iter().filter(|hidden| rest.starts_with(hidden)).map(Vec::len).max();
            if self.covered == 0 {
                match (longest, rest.first()) {
                    (Some(_), _) => passed.extend_from_slice(STARS),
                    (None, first) => passed.extend(first),
                }
            }
            self.covered = self.covered.max(longest.unwrap_or(0)).saturating_sub(1);
            seen += 1;
        }
        self.held.drain(..seen);
        passed
    }
}

/// Says how many strings are hidden, and none of them.
impl fmt::Debug for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrub({} hidden)", self.hidden.len())
    }
}
