//! Reading a file line by line, from either end, in blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::super::entry::{Entry, LONGEST_LINE};

const BLOCK: u64 = 64 * 1024;

/// What is read to find out where in a file one is: a line or two.
const SHORT_BLOCK: u64 = 4 * 1024;

/// A line of a file, without its end.
pub(super) struct Line {
    /// Where it begins.
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

    /// The id that the line begins with, as Bub and this program write it; `None` where it has to be read to know. It need
    /// not be an entry's.
    fn id(&self) -> Option<u64> {
        let rest = self.bytes.strip_prefix(br#"{"id": "#)?;
        let digits = rest.get(..memchr::memchr(b',', rest.get(..MOST_DIGITS)?)?)?;
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    }
}

/// Digits of the greatest id, and the comma behind them.
const MOST_DIGITS: usize = 21;

/// Lines from the end of a file toward its beginning.
pub(super) struct Backward<'f> {
    file: &'f File,
    /// Where `buffer` begins in the file.
    at: u64,
    /// What was read and not given out.
    buffer: Vec<u8>,
    /// Whether the line that `buffer` ends with has a newline behind it.
    ended: bool,
    /// So much at once: little at first, as most who look at an end want a line or two of it.
    block: u64,
}

impl<'f> Backward<'f> {
    /// Lines before `end`, which is the end of the file or the beginning of a line.
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

    /// The line before the last one given out.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        // Blocks of a line that spans several, the last first: joined once, however many there are.
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
        // Before a line that has one before it stands that one's newline.
        let ended = std::mem::replace(&mut self.ended, more);
        Line { start, ended, bytes }
    }

    /// Reads the block before what was read.
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

/// Lines from some place in a file toward its end.
pub(super) struct Forward<'f> {
    file: &'f File,
    /// Where the next line begins.
    pub(super) at: u64,
    /// Nothing behind this is read.
    end: u64,
    /// So much at once.
    block: u64,
    buffer: Vec<u8>,
    /// How much of `buffer` was given out.
    used: usize,
}

impl<'f> Forward<'f> {
    /// Lines from `start` to `end`.
    pub(super) fn new(file: &'f File, start: u64, end: u64) -> Self {
        Self { file, at: start, end, block: BLOCK, buffer: Vec::new(), used: 0 }
    }

    /// The same, of which little will be read.
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

    /// What was read and not given out; more is read when that is nothing. Empty: the end.
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

/// Where the first entry with an id greater than `id` begins, or `end`. Ids grow along a tape, up to `last_id`, so this
/// halves the file until it is at the place. None: they do not.
pub(super) fn behind(file: &File, id: u64, end: u64, last_id: u64) -> io::Result<Option<u64>> {
    // The place lies from `low`, where a line begins, to `high`; what is read between them has an id of this range.
    let (mut low, mut high) = (0, end);
    let (mut above, mut greatest) = (0, last_id);
    while high - low > BLOCK {
        let middle = low + (high - low) / 2;
        let mut lines = Forward::short(file, middle, end);
        // Most likely the rest of a line.
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

/// The next line that can be read, if it begins before `end`.
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
