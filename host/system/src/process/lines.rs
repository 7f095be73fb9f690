//! The lines that a program writes, for several readers that each get all of them.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::sync::watch;

/// The longest line, in bytes.
pub const MAX_LINE: usize = 4 << 20;

/// Bytes and lines that are kept for readers that have not read them yet.
const MAX_KEPT: usize = 8 << 20;
const MAX_LINES: usize = 8_192;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Lines by number, from the program's first one on.
///
/// The pipe is read only while a reader waits for a line, so that a program without a reader is stopped by its full pipe.
pub(super) struct Lines {
    pipe: tokio::sync::Mutex<Pipe>,
    kept: Mutex<Kept>,
    /// Lines that were read so far.
    count: watch::Sender<u64>,
}

/// What a reader gets.
pub(super) enum Next {
    Line(Arc<str>),
    /// So many lines were dropped before it came for them.
    Lost(u64),
    Ended(LinesEnd),
}

/// Why there are no more lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinesEnd {
    Closed,
    TooLong,
}

struct Pipe {
    source: ChildStdout,
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// Up to where the buffer has no line end.
    searched: usize,
    ended: Option<LinesEnd>,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<Arc<str>>,
    /// The number of the oldest line that is kept.
    first: u64,
    bytes: usize,
}

impl Lines {
    pub(super) fn new(source: ChildStdout) -> Self {
        let pipe = Pipe { source, buffer: Vec::new(), start: 0, searched: 0, ended: None };
        Self { pipe: tokio::sync::Mutex::new(pipe), kept: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// The number of the line that is read next.
    pub(super) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    /// The line of that number. Cancellation-safe.
    pub(super) async fn get(&self, number: u64) -> Next {
        loop {
            if let Some(next) = self.kept.lock().get(number) {
                return next;
            }
            if let Err(end) = self.pull(number).await {
                return Next::Ended(end);
            }
        }
    }

    /// Reads lines until it is dropped, so that the program can go on writing.
    pub(super) async fn pump(&self) {
        while self.pull(self.count()).await.is_ok() {}
        // All are read: other readers that wait go on.
        std::future::pending().await
    }

    /// Returns once the line of that number was read, by this call or another one.
    async fn pull(&self, number: u64) -> Result<(), LinesEnd> {
        let mut count = self.count.subscribe();
        let by_another = async move {
            // The sender lives as long as the lines.
            let _ = count.wait_for(|count| *count > number).await.map(|count| *count);
        };
        let mut pipe = tokio::select! {
            biased;
            () = by_another => return Ok(()),
            pipe = self.pipe.lock() => pipe,
        };
        if self.count() > number {
            return Ok(());
        }
        let line = pipe.line().await?;
        self.kept.lock().push(line.into());
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }
}

impl Pipe {
    /// The next line without its end. Cancellation-safe: what was read stays in the buffer.
    async fn line(&mut self) -> Result<String, LinesEnd> {
        loop {
            if let Some(end) = self.ended {
                return Err(end);
            }
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                let end = self.searched + at;
                let line = text(self.buffer.get(self.start..end).unwrap_or_default());
                (self.start, self.searched) = (end + 1, end + 1);
                return Ok(line);
            }
            self.buffer.drain(..self.start);
            (self.start, self.searched) = (0, self.buffer.len());
            if self.buffer.len() > MAX_LINE {
                self.buffer = Vec::new();
                self.ended = Some(LinesEnd::TooLong);
                continue;
            }
            self.buffer.reserve(PIECE);
            if !matches!(self.source.read_buf(&mut self.buffer).await, Ok(1..)) {
                self.ended = Some(LinesEnd::Closed);
                let rest = std::mem::take(&mut self.buffer);
                if !rest.is_empty() {
                    return Ok(text(&rest));
                }
            }
        }
    }
}

impl Kept {
    fn get(&self, number: u64) -> Option<Next> {
        match number.checked_sub(self.first) {
            None => Some(Next::Lost(self.first - number)),
            Some(at) => self.lines.get(usize::try_from(at).ok()?).cloned().map(Next::Line),
        }
    }

    fn push(&mut self, line: Arc<str>) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > 1 && (self.bytes > MAX_KEPT || self.lines.len() > MAX_LINES) {
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes -= oldest.len();
            self.first += 1;
        }
    }
}

/// Bytes that are no UTF-8 are replaced.
fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}
