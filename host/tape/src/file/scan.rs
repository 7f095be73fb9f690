//! Reading a file line by line, from either end, in blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::super::entry::{Entry, LONGEST_LINE};

const BLOCK: u64 = 64 * 1024;

/// Block size for reading a line or two.
const SHORT_BLOCK: u64 = 4 * 1024;

/// A line of a file, without its line end.
pub(super) struct Line {
    /// Offset of its start.
    pub(super) start: u64,
    /// Whether it ends with a newline; only the last line may lack it.
    pub(super) ended: bool,
    pub(super) bytes: Vec<u8>,
}

impl Line {
    /// The entry of the line; `None` if it is unreadable.
    pub(super) fn entry(&self) -> Option<Entry> {
        Entry::parse(std::str::from_utf8(&self.bytes).ok()?)
    }

    /// The id that the line begins with, as Bub and this program write it; `None` if the line must be parsed. The line
    /// may not be an entry.
    fn id(&self) -> Option<u64> {
        let rest = self.bytes.strip_prefix(br#"{"id": "#)?;
        let digits = rest.get(..memchr::memchr(b',', rest.get(..MOST_DIGITS)?)?)?;
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    }
}

/// Digits of the greatest id, and the comma after them.
const MOST_DIGITS: usize = 21;

/// Lines from the end of a file toward its beginning.
pub(super) struct Backward<'f> {
    file: &'f File,
    /// Offset of `buffer` in the file.
    at: u64,
    /// Bytes that were read but not returned yet.
    buffer: Vec<u8>,
    /// Whether the last line of `buffer` ends with a newline.
    ended: bool,
    /// Size of the next block: small at first, as most callers need a line or two.
    block: u64,
}

impl<'f> Backward<'f> {
    /// Lines before `end`, which is the end of the file or the start of a line.
    pub(super) fn new(file: &'f File, end: u64) -> io::Result<Self> {
        let mut lines = Self { file, at: end, buffer: Vec::new(), ended: false, block: SHORT_BLOCK };
        if let Err(error) = lines.fill() {
            // An append may just have cut off a torn line here.
            if error.kind() != io::ErrorKind::UnexpectedEof {
                return Err(error);
            }
            lines.at = file.metadata()?.len().min(end);
            lines.fill()?;
        }
        lines.ended = lines.buffer.pop_if(|byte| *byte == b'\n').is_some();
        Ok(lines)
    }

    /// The line before the last one returned.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        // The blocks of a long line, last first, joined once.
        let mut behind: Vec<Vec<u8>> = Vec::new();
        let mut length = 0;
        loop {
            if let Some(newline) = self.buffer.iter().rposition(|byte| *byte == b'\n') {
                let bytes = self.buffer.split_off(newline + 1);
                self.buffer.pop();
                let start = self.at + newline as u64 + 1;
                return Ok(Some(self.line(start, true, bytes, behind)));
            }
            let block = std::mem::take(&mut self.buffer);
            length += block.len();
            behind.push(block);
            if length > LONGEST_LINE {
                behind.clear();
            }
            if self.at == 0 {
                let nothing = length == 0 && !self.ended;
                let line = self.line(0, false, Vec::new(), behind);
                return Ok(if nothing { None } else { Some(line) });
            }
            self.fill()?;
        }
    }

    fn line(&mut self, start: u64, more: bool, mut bytes: Vec<u8>, behind: Vec<Vec<u8>>) -> Line {
        for block in behind.into_iter().rev() {
            bytes.extend_from_slice(&block);
        }
        // A preceding line ends with a newline.
        let ended = std::mem::replace(&mut self.ended, more);
        Line { start, ended, bytes }
    }

    /// Reads the preceding block.
    fn fill(&mut self) -> io::Result<()> {
        let size = self.at.min(self.block);
        let mut block = vec![0; size as usize];
        self.file.read_exact_at(&mut block, self.at - size)?;
        self.block = (self.block * 4).min(BLOCK);
        self.at -= size;
        self.buffer = block;
        Ok(())
    }
}

/// Lines from an offset in a file toward its end.
pub(super) struct Forward<'f> {
    file: &'f File,
    /// Offset of the next line.
    pub(super) at: u64,
    /// End of the range to read.
    end: u64,
    /// Size of a block.
    block: u64,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were returned.
    used: usize,
}

impl<'f> Forward<'f> {
    /// Lines from `start` to `end`.
    pub(super) fn new(file: &'f File, start: u64, end: u64) -> Self {
        Self { file, at: start, end, block: BLOCK, buffer: Vec::new(), used: 0 }
    }

    /// Like `new`, with small blocks.
    pub(super) fn short(file: &'f File, start: u64, end: u64) -> Self {
        Self { block: SHORT_BLOCK, ..Self::new(file, start, end) }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut ended = false;
        while !ended {
            let block = self.block()?;
            if block.is_empty() {
                break;
            }
            let newline = memchr::memchr(b'\n', block);
            let part = newline.unwrap_or(block.len());
            if bytes.len() <= LONGEST_LINE {
                bytes.extend_from_slice(block.get(..part).unwrap_or_default());
            }
            ended = newline.is_some();
            let used = part + usize::from(ended);
            self.used += used;
            self.at += used as u64;
        }
        if self.at == start {
            return Ok(None);
        }
        if bytes.len() > LONGEST_LINE {
            bytes.clear();
        }
        Ok(Some(Line { start, ended, bytes }))
    }

    /// The bytes that were not returned yet; reads a block if there are none. Empty at the end.
    fn block(&mut self) -> io::Result<&[u8]> {
        if self.used == self.buffer.len() {
            let size = self.end.saturating_sub(self.at).min(self.block);
            if size == 0 {
                return Ok(&[]);
            }
            self.buffer.resize(size as usize, 0);
            self.used = 0;
            let read = loop {
                match self.file.read_at(&mut self.buffer, self.at) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            self.buffer.truncate(read);
            self.block = (self.block * 4).min(BLOCK);
        }
        Ok(self.buffer.get(self.used..).unwrap_or_default())
    }
}

/// Offset of the first entry with an id greater than `id`, or `end`, by bisection. Ids increase along a tape, up to
/// `last_id`; `None` if they do not.
pub(super) fn behind(file: &File, id: u64, end: u64, last_id: u64) -> io::Result<Option<u64>> {
    // The offset is between `low`, where a line begins, and `high`; ids read in between must be in this range.
    let (mut low, mut high) = (0, end);
    let (mut above, mut greatest) = (0, last_id);
    while high - low > BLOCK {
        let middle = low + (high - low) / 2;
        let mut lines = Forward::short(file, middle, end);
        // Usually the rest of a line.
        lines.next()?;
        match first(&mut lines, high)? {
            Some((_, found)) if found.id <= above || found.id > greatest => return Ok(None),
            Some((_, found)) if found.id > id => (high, greatest) = (middle, found.id - 1),
            Some((start, found)) => (low, above) = (start, found.id),
            None => high = middle,
        }
    }
    let mut lines = Forward::new(file, low, end);
    while let Some(line) = lines.next()? {
        // Earlier lines are skipped by their ids, without parsing the rest.
        let is_before = line.id().is_some_and(|before| before <= id);
        if !is_before && line.entry().is_some_and(|entry| entry.id > id) {
            return Ok(Some(line.start));
        }
    }
    Ok(Some(lines.at))
}

/// The next readable line that begins before `end`.
fn first(lines: &mut Forward<'_>, end: u64) -> io::Result<Option<(u64, Entry)>> {
    while lines.at < end
        && let Some(line) = lines.next()?
    {
        if let Some(entry) = line.entry() {
            return Ok(Some((line.start, entry)));
        }
    }
    Ok(None)
}
