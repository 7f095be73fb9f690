//! A file in large blocks of whole lines, from its end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::super::super::entry::LONGEST_LINE;

/// Large enough that reading costs little compared with searching.
const BLOCK: u64 = 1024 * 1024;

/// Whole lines of a file, from its end toward its beginning.
pub(in super::super) struct Blocks<'f> {
    file: &'f File,
    /// Start of the range: the beginning of a line.
    start: u64,
    /// Offset of what was read.
    at: u64,
    block: Vec<u8>,
    /// Length of the partial line at the start of `block` that was not returned yet.
    rest: usize,
    /// The pieces of a partial line, last first, joined once.
    pieces: Vec<Vec<u8>>,
    length: usize,
}

impl<'f> Blocks<'f> {
    /// Lines before `end`, which is the end of the file or the start of a line.
    pub(in super::super) fn new(file: &'f File, end: u64) -> Self {
        Self::between(file, 0, end)
    }

    /// Lines from `start`, the start of a line, to `end`.
    pub(in super::super) fn between(file: &'f File, start: u64, end: u64) -> Self {
        Self { file, start, at: end, block: Vec::new(), rest: 0, pieces: Vec::new(), length: 0 }
    }

    /// The lines before those returned last, separated by newlines; `None` at the beginning. A line that exceeds the
    /// maximum length is left out.
    pub(in super::super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.set_aside(self.rest);
        while self.at > self.start {
            self.fill()?;
            let newline = memchr::memchr(b'\n', &self.block);
            let first = match newline {
                _ if self.at == self.start => 0,
                Some(newline) => newline + 1,
                None => {
                    self.set_aside(self.block.len());
                    continue;
                }
            };
            // Without the newline itself.
            self.rest = first.saturating_sub(1);
            self.join();
            return Ok(self.block.get(first..));
        }
        Ok(None)
    }

    /// Sets aside the beginning of the block, which is the end of a line.
    fn set_aside(&mut self, length: usize) {
        self.rest = 0;
        self.length = self.length.saturating_add(length);
        if self.length > LONGEST_LINE {
            self.pieces.clear();
        } else if let Some(piece) = self.block.get(..length).filter(|piece| !piece.is_empty()) {
            self.pieces.push(piece.to_vec());
        }
    }

    /// Appends the rest of its last line to the block.
    fn join(&mut self) {
        let last = memchr::memrchr(b'\n', &self.block).map_or(0, |newline| newline + 1);
        if self.length.saturating_add(self.block.len() - last) > LONGEST_LINE {
            self.block.truncate(last);
        } else {
            for piece in self.pieces.iter().rev() {
                self.block.extend_from_slice(piece);
            }
        }
        self.pieces.clear();
        self.length = 0;
    }

    /// Reads the preceding block.
    fn fill(&mut self) -> io::Result<()> {
        loop {
            let size = (self.at - self.start).min(BLOCK);
            self.block.resize(size as usize, 0);
            // Releases the memory of a long line.
            self.block.shrink_to(2 * BLOCK as usize);
            match self.file.read_exact_at(&mut self.block, self.at - size) {
                Ok(()) => {
                    self.at -= size;
                    return Ok(());
                }
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
                Err(error) => {
                    // An append may just have cut off a torn line here.
                    let length = self.file.metadata()?.len();
                    if length >= self.at {
                        return Err(error);
                    }
                    *self = Self::between(self.file, self.start.min(length), length);
                }
            }
        }
    }
}
