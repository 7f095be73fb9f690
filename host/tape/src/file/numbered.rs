//! A tape's file as readers see it: entries with ids that grow, from either end.
//!
//! On a tape that this program or Bub wrote, the ids on the lines are those ids, and each line is read where it stands. That
//! they are is held against every entry that is read. The first that breaks it ends the reading with [`is_odd`], and the tape
//! is read again by its [`Marks`], which number it from its beginning.

use std::fs::File;
use std::io::{self, ErrorKind};

use super::super::entry::Entry;
use super::super::ids::{Ids, is_usable};
use super::end::End;
use super::marks::{Mark, Marks};
use super::scan::{self, Backward, Forward};

/// The part of a tape's file that may be seen.
pub(super) struct Numbered<'f> {
    pub(super) file: &'f File,
    pub(super) end: u64,
    /// What numbers it; none: the lines do.
    pub(super) marks: Option<Marks>,
}

/// Says that the ids on a tape's lines do not grow.
#[derive(Debug)]
struct Odd;

impl std::fmt::Display for Odd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the ids of its entries do not grow")
    }
}

impl std::error::Error for Odd {}

pub(super) fn odd() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, Odd)
}

/// Whether a reading ended because the ids on the lines do not grow.
pub(super) fn is_odd(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Odd>())
}

impl<'f> Numbered<'f> {
    /// How the file ends.
    pub(super) fn last(&self) -> io::Result<End> {
        let mut end = End::of(self.file, self.end)?;
        if let Some(marks) = &self.marks {
            let mark = marks.at(self.end);
            let mut entries = Entries::behind(self, mark, mark.last);
            end.last_id = mark.last;
            while let Some((_, entry)) = entries.next()? {
                end.last_id = entry.id;
            }
        } else if end.has_entry && !is_usable(end.last_id) {
            return Err(odd());
        }
        Ok(end)
    }

    /// Where the part ends that holds the entries before `before` (none: all of them). `last_id` is the file's last.
    pub(super) fn before(&self, before: Option<u64>, last_id: u64) -> io::Result<u64> {
        let Some(before) = before.filter(|before| *before <= last_id) else { return Ok(self.end) };
        self.place_behind(before.saturating_sub(1), last_id)
    }

    /// Where the first entry with an id greater than `id` begins, or the end.
    fn place_behind(&self, id: u64, last_id: u64) -> io::Result<u64> {
        let Some(marks) = &self.marks else {
            return scan::behind(self.file, id, self.end, last_id)?.ok_or_else(odd);
        };
        let mark = marks.behind(id);
        let mut entries = Entries::behind(self, mark, mark.last);
        while let Some((start, entry)) = entries.next()? {
            if entry.id > id {
                return Ok(start);
            }
        }
        Ok(self.end)
    }

    /// The entries behind `after`, in order.
    pub(super) fn forward(&self, after: u64) -> io::Result<Entries<'f>> {
        if self.marks.is_none() {
            let start = match after {
                0 => 0,
                after => scan::behind(self.file, after, self.end, u64::MAX)?.ok_or_else(odd)?,
            };
            return Ok(Entries::behind(self, Mark { offset: start, last: after }, after));
        }
        let mark = self.marks.as_ref().map(|marks| marks.behind(after)).unwrap_or_default();
        Ok(Entries::behind(self, mark, after))
    }

    /// The entries from the line on that begins at `offset`.
    pub(super) fn from(&self, offset: u64) -> io::Result<Entries<'f>> {
        let Some(marks) = &self.marks else {
            return Ok(Entries::behind(self, Mark { offset, last: 0 }, 0));
        };
        let mark = marks.at(offset);
        let mut entries = Entries::behind(self, mark, 0);
        while entries.lines.at < offset && entries.next()?.is_some() {}
        Ok(entries)
    }

    /// The entries that stand before the byte `from`, newest first.
    pub(super) fn backward(&self, from: u64) -> io::Result<Newest<'_, 'f>> {
        let way = match &self.marks {
            None => Way::Lines { lines: Backward::new(self.file, from)?, next: None },
            Some(marks) => Way::Marks { marks, mark: Some(marks.at(from.saturating_sub(1))), stretch: Vec::new() },
        };
        Ok(Newest { of: self, from, way })
    }
}

/// Entries in order.
pub(super) struct Entries<'f> {
    lines: Forward<'f>,
    ids: Ids,
    is_numbered: bool,
    after: u64,
}

impl<'f> Entries<'f> {
    fn behind(of: &Numbered<'f>, mark: Mark, after: u64) -> Self {
        Self {
            lines: Forward::new(of.file, mark.offset, of.end),
            ids: Ids::behind(mark.last),
            is_numbered: of.marks.is_some(),
            after,
        }
    }

    /// The next entry, with where its line begins.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Entry)>> {
        while let Some(line) = self.lines.next()? {
            let Some(mut entry) = line.entry() else { continue };
            if !self.is_numbered && !self.ids.grows(entry.id) {
                return Err(odd());
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
pub(super) struct Newest<'n, 'f> {
    of: &'n Numbered<'f>,
    from: u64,
    way: Way<'n, 'f>,
}

enum Way<'n, 'f> {
    Lines {
        lines: Backward<'f>,
        /// The id of the entry behind the next one.
        next: Option<u64>,
    },
    Marks {
        marks: &'n Marks,
        /// Where the next stretch begins.
        mark: Option<Mark>,
        /// Entries that were numbered and not given out.
        stretch: Vec<(u64, Entry)>,
    },
}

impl Newest<'_, '_> {
    /// The entry before the last one given out, with where its line begins. `may_be` looks at a line first: what it is sure
    /// that nobody wants need not be read.
    pub(super) fn next(&mut self, may_be: &dyn Fn(&[u8]) -> bool) -> io::Result<Option<Seen>> {
        match &mut self.way {
            Way::Lines { lines, next } => {
                let Some(line) = lines.next()? else { return Ok(None) };
                let start = line.start;
                let entry = if may_be(&line.bytes) { line.entry() } else { None };
                if let Some(entry) = &entry {
                    if !is_usable(entry.id) || next.is_some_and(|next| entry.id >= next) {
                        return Err(odd());
                    }
                    *next = Some(entry.id);
                }
                Ok(Some(Seen { start, entry }))
            }
            Way::Marks { marks, mark, stretch } => {
                while stretch.is_empty() {
                    let Some(begin) = *mark else { return Ok(None) };
                    *mark = marks.previous(begin);
                    let end = marks.end_of(begin, self.of.end).min(self.from);
                    let of = Numbered { file: self.of.file, end, marks: Some(Marks::default()) };
                    let mut entries = Entries::behind(&of, begin, 0);
                    while let Some(found) = entries.next()? {
                        stretch.push(found);
                    }
                }
                Ok(stretch.pop().map(|(start, entry)| Seen { start, entry: Some(entry) }))
            }
        }
    }
}

/// A line that was looked at.
pub(super) struct Seen {
    pub(super) start: u64,
    /// None: it holds none, or none that is wanted.
    pub(super) entry: Option<Entry>,
}

/// The entry whose line begins at `offset`, under the id that it has by `marks`.
pub(super) fn entry_at(file: &File, marks: &Marks, offset: u64, end: u64) -> io::Result<Option<Entry>> {
    let of = Numbered { file, end, marks: Some(Marks::default()) };
    let mut entries = Entries::behind(&of, marks.at(offset), 0);
    while let Some((start, entry)) = entries.next()? {
        if start >= offset {
            return Ok((start == offset).then_some(entry));
        }
    }
    Ok(None)
}

/// How a file ends that is no tape, as an archive is none.
pub(super) fn end_of(file: &File, end: u64) -> io::Result<End> {
    match (Numbered { file, end, marks: None }).last() {
        Err(error) if is_odd(&error) => Numbered { file, end, marks: Some(Marks::default()) }.last(),
        found => found,
    }
}
