//! Lines of a peer, of a bounded length: one that is too long is read to its end and dropped.

use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line was longer than the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Reads lines of at most `max` bytes, their ends included.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use bub_system::lines::{BoundedLines, TooLong};
///
/// let mut lines = BoundedLines::new(&b"one\na long line\ntwo\n"[..], 8);
/// assert_eq!(lines.next().await.unwrap(), Some(Ok(b"one\n".to_vec())));
/// assert_eq!(lines.next().await.unwrap(), Some(Err(TooLong)));
/// assert_eq!(lines.next().await.unwrap(), Some(Ok(b"two\n".to_vec())));
/// assert_eq!(lines.next().await.unwrap(), None);
/// # });
/// ```
pub struct BoundedLines<R> {
    read: R,
    max: usize,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is read and dropped.
    is_discarding: bool,
}

impl<R: AsyncBufRead + Unpin> BoundedLines<R> {
    /// Reads from that stream.
    pub fn new(read: R, max: usize) -> Self {
        Self { read, max, line: Vec::new(), is_discarding: false }
    }

    /// The next line with its end; none at the end of the stream. What follows the last end of a line is none. Cancel safe: a
    /// part of a line stays.
    ///
    /// # Errors
    ///
    /// The stream cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, TooLong>>> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let is_too_long = self.line.len() + taken > self.max;
            if !self.is_discarding && !is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.read.consume(taken);
            let was_discarding = self.is_discarding;
            if is_too_long {
                self.line = Vec::new();
                self.is_discarding = true;
            }
            if end.is_none() {
                continue;
            }
            if std::mem::take(&mut self.is_discarding) || was_discarding {
                return Ok(Some(Err(TooLong)));
            }
            return Ok(Some(Ok(std::mem::take(&mut self.line))));
        }
    }
}
