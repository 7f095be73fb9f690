//! A tape's file with increasing ids, read from either end.
//!
//! Normally the ids on the lines increase and are used as they are; this is checked while reading. The first irregular
//! id ends the reading with an error (see [`has_irregular_ids`]), and the tape is read again with its [`SparseIndex`],
//! which numbers it from the beginning.

use std::fs::File;
use std::io::{self, ErrorKind};

use super::super::entry::Entry;
use super::super::ids::{Ids, is_usable};
use super::end::End;
use super::scan::{self, Backward, Forward};
use super::sparse_index::{IndexPoint, SparseIndex};

/// The visible part of a tape's file.
pub(super) struct NumberedFile<'f> {
    pub(super) file: &'f File,
    pub(super) end: u64,
    /// The sparse index that numbers it; none: the ids on the lines do.
    pub(super) points: Option<SparseIndex>,
}

/// The ids on a tape's lines do not increase.
#[derive(Debug)]
struct IrregularIds;

impl std::fmt::Display for IrregularIds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the ids of its entries do not increase")
    }
}

impl std::error::Error for IrregularIds {}

pub(super) fn irregular() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, IrregularIds)
}

/// Whether reading ended because of irregular ids.
pub(super) fn has_irregular_ids(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<IrregularIds>())
}

impl<'f> NumberedFile<'f> {
    /// How the file ends.
    pub(super) fn last(&self) -> io::Result<End> {
        let mut end = End::read(self.file, self.end)?;
        if let Some(points) = &self.points {
            let point = points.at(self.end);
            let mut entries = EntriesForward::behind(self, point, point.last);
            end.last_id = point.last;
            while let Some((_, entry)) = entries.next()? {
                end.last_id = entry.id;
            }
        } else if end.has_entry && !is_usable(end.last_id) {
            return Err(irregular());
        }
        Ok(end)
    }

    /// Offset after the entries before `before` (`None`: all of them). `last_id` is the file's last id.
    pub(super) fn before(&self, before: Option<u64>, last_id: u64) -> io::Result<u64> {
        let Some(before) = before.filter(|before| *before <= last_id) else { return Ok(self.end) };
        self.place_behind(before.saturating_sub(1), last_id)
    }

    /// Offset of the first entry with an id greater than `id`, or the end.
    fn place_behind(&self, id: u64, last_id: u64) -> io::Result<u64> {
        let Some(points) = &self.points else {
            return scan::behind(self.file, id, self.end, last_id)?.ok_or_else(irregular);
        };
        let point = points.behind(id);
        let mut entries = EntriesForward::behind(self, point, point.last);
        while let Some((start, entry)) = entries.next()? {
            if entry.id > id {
                return Ok(start);
            }
        }
        Ok(self.end)
    }

    /// The entries after `after`, in order.
    pub(super) fn forward(&self, after: u64) -> io::Result<EntriesForward<'f>> {
        if self.points.is_none() {
            let start = match after {
                0 => 0,
                after => scan::behind(self.file, after, self.end, u64::MAX)?.ok_or_else(irregular)?,
            };
            return Ok(EntriesForward::behind(self, IndexPoint { offset: start, last: after }, after));
        }
        let point = self.points.as_ref().map(|points| points.behind(after)).unwrap_or_default();
        Ok(EntriesForward::behind(self, point, after))
    }

    /// The entries from the line at `offset` on.
    pub(super) fn from(&self, offset: u64) -> io::Result<EntriesForward<'f>> {
        let Some(points) = &self.points else {
            return Ok(EntriesForward::behind(self, IndexPoint { offset, last: 0 }, 0));
        };
        let point = points.at(offset);
        let mut entries = EntriesForward::behind(self, point, 0);
        while entries.lines.at < offset && entries.next()?.is_some() {}
        Ok(entries)
    }

    /// The entries before byte `from`, newest first.
    pub(super) fn backward(&self, from: u64) -> io::Result<EntriesBackward<'_, 'f>> {
        let way = match &self.points {
            None => Direction::Lines { lines: Backward::new(self.file, from)?, next: None },
            Some(points) => {
                Direction::SparseIndex { points, point: Some(points.at(from.saturating_sub(1))), stretch: Vec::new() }
            }
        };
        Ok(EntriesBackward { of: self, from, way })
    }
}

/// Entries in order.
pub(super) struct EntriesForward<'f> {
    lines: Forward<'f>,
    ids: Ids,
    is_numbered: bool,
    after: u64,
}

impl<'f> EntriesForward<'f> {
    fn behind(of: &NumberedFile<'f>, point: IndexPoint, after: u64) -> Self {
        Self {
            lines: Forward::new(of.file, point.offset, of.end),
            ids: Ids::behind(point.last),
            is_numbered: of.points.is_some(),
            after,
        }
    }

    /// The next entry, with the offset of its line.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Entry)>> {
        while let Some(line) = self.lines.next()? {
            let Some(mut entry) = line.entry() else { continue };
            if !self.is_numbered && !self.ids.grows(entry.id) {
                return Err(irregular());
            }
            entry.id = self.ids.next(entry.id);
            if entry.id > self.after {
                return Ok(Some((line.start, entry)));
            }
        }
        Ok(None)
    }
}

/// Entries, newest first.
pub(super) struct EntriesBackward<'n, 'f> {
    of: &'n NumberedFile<'f>,
    from: u64,
    way: Direction<'n, 'f>,
}

enum Direction<'n, 'f> {
    Lines {
        lines: Backward<'f>,
        /// The id of the entry after the next one.
        next: Option<u64>,
    },
    SparseIndex {
        points: &'n SparseIndex,
        /// Start of the next stretch.
        point: Option<IndexPoint>,
        /// Entries that were numbered but not returned yet.
        stretch: Vec<(u64, Entry)>,
    },
}

impl EntriesBackward<'_, '_> {
    /// The previous entry, with the offset of its line. `may_be` prefilters lines, so that most need not be parsed.
    pub(super) fn next(&mut self, may_be: &dyn Fn(&[u8]) -> bool) -> io::Result<Option<NumberedLine>> {
        match &mut self.way {
            Direction::Lines { lines, next } => {
                let Some(line) = lines.next()? else { return Ok(None) };
                let start = line.start;
                let entry = if may_be(&line.bytes) { line.entry() } else { None };
                if let Some(entry) = &entry {
                    if !is_usable(entry.id) || next.is_some_and(|next| entry.id >= next) {
                        return Err(irregular());
                    }
                    *next = Some(entry.id);
                }
                Ok(Some(NumberedLine { start, entry }))
            }
            Direction::SparseIndex { points, point, stretch } => {
                while stretch.is_empty() {
                    let Some(begin) = *point else { return Ok(None) };
                    *point = points.previous(begin);
                    let end = points.end_of(begin, self.of.end).min(self.from);
                    let of = NumberedFile { file: self.of.file, end, points: Some(SparseIndex::default()) };
                    let mut entries = EntriesForward::behind(&of, begin, 0);
                    while let Some(found) = entries.next()? {
                        stretch.push(found);
                    }
                }
                Ok(stretch.pop().map(|(start, entry)| NumberedLine { start, entry: Some(entry) }))
            }
        }
    }
}

/// A line that was read.
pub(super) struct NumberedLine {
    pub(super) start: u64,
    /// `None`: the line has no entry, or was filtered out.
    pub(super) entry: Option<Entry>,
}

/// The entry of the line at `offset`, numbered by `points`.
pub(super) fn entry_at(file: &File, points: &SparseIndex, offset: u64, end: u64) -> io::Result<Option<Entry>> {
    let of = NumberedFile { file, end, points: Some(SparseIndex::default()) };
    let mut entries = EntriesForward::behind(&of, points.at(offset), 0);
    while let Some((start, entry)) = entries.next()? {
        if start >= offset {
            return Ok((start == offset).then_some(entry));
        }
    }
    Ok(None)
}

/// The end of a file that is not a tape, such as an archive.
pub(super) fn end_of(file: &File, end: u64) -> io::Result<End> {
    match (NumberedFile { file, end, points: None }).last() {
        Err(error) if has_irregular_ids(&error) => {
            NumberedFile { file, end, points: Some(SparseIndex::default()) }.last()
        }
        found => found,
    }
}
