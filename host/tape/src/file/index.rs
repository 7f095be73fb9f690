//! The index of a tape's file: its summary and known positions, saved in a separate directory.

use std::borrow::Cow;
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::entry::Entry;
use super::super::ids::{Ids, LARGEST_ID};
use super::super::lookup::Lookup;
use super::super::summary::{EntryOffset, Newest, TapeSummary};
use super::numbered::entry_at;
use super::scan::Forward;
use super::sparse_index::{IndexPoint, SparseIndex};

/// Header of a saved index; its checksum is at the end. Increment the number whenever the format or a rule of the
/// summary changes.
const HEADER: &str = "bub-wasm index 5";

/// Maximum size of a saved index, in bytes: larger than any real one.
const LONGEST_KEPT: u64 = 4 * 1024 * 1024;

/// Bytes at the beginning and the end of the indexed part that are compared with the file.
const EDGE: usize = 4 * 1024;

/// Bytes that must be indexed since the last save to make another worthwhile.
const WORTH_SAVING: u64 = 256 * 1024;

/// The index of a tape's file, up to some offset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    folded: Folded,
    /// Bytes that were indexed at the last save.
    saved: u64,
}

/// The saved part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Folded {
    summary: TapeSummary,
    length: u64,
    last_id: u64,
    /// Whether the id on some line differs from the entry's.
    #[serde(default)]
    has_irregular_ids: bool,
    #[serde(default)]
    points: SparseIndex,
    /// CRC-32 of the first and of the last [`EDGE`] indexed bytes.
    edges: [u32; 2],
}

impl Index {
    /// The summary of the indexed lines.
    pub fn summary(&self) -> &TapeSummary {
        &self.folded.summary
    }

    /// The number of indexed bytes, from the beginning of the file; a line begins there.
    pub fn length(&self) -> u64 {
        self.folded.length
    }

    /// The id of the last indexed entry; 0 without one.
    pub fn last_id(&self) -> u64 {
        self.folded.last_id
    }

    /// Indexes the lines after the indexed part that end before `end`: the length of the file, or of its valid part. A
    /// last line without its newline may still grow, and is left. If the file is no longer the indexed one, it is
    /// indexed from the beginning.
    ///
    /// Holds at most one line (64 MiB) in memory, usually one block.
    ///
    /// # Errors
    ///
    /// The file cannot be read. The index until then is kept.
    pub fn catch_up(&mut self, file: &File, end: u64) -> io::Result<()> {
        if !self.folded.fits(file, end)? {
            *self = Self::default();
        }
        self.go_on(file, end)
    }

    /// Like [`catch_up`](Self::catch_up), without comparing the file.
    pub(super) fn go_on(&mut self, file: &File, end: u64) -> io::Result<()> {
        let before = self.folded.length;
        let result = self.folded.fold(file, end);
        if self.folded.length > before {
            self.folded.edges = edges(file, self.folded.length)?;
        }
        result
    }

    /// Like [`catch_up`](Self::catch_up), from entries in memory with the offsets of their lines, up to `end`.
    pub(super) fn extend(&mut self, file: &File, written: impl Iterator<Item = (Entry, u64)>, end: u64) {
        // Without the checksums the index would match no file and be rebuilt.
        let Ok(edges) = edges(file, end) else { return };
        for (entry, offset) in written {
            self.folded.add(entry, offset);
        }
        (self.folded.length, self.folded.edges) = (end, edges);
    }

    /// The summary including a last line without a newline.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn whole(&self, file: &File, end: u64) -> io::Result<Cow<'_, TapeSummary>> {
        let mut summary = Cow::Borrowed(self.summary());
        let mut lines = Forward::new(file, self.folded.length, end);
        while let Some(line) = lines.next()? {
            match line.entry() {
                _ if line.ended => {}
                Some(entry) => {
                    let id = Ids::behind(self.folded.last_id).next(entry.id);
                    summary.to_mut().fold(&Entry { id, ..entry }, EntryOffset { id, offset: line.start });
                }
                None => summary.to_mut().unreadable(),
            }
        }
        Ok(summary)
    }

    /// The newest indexed entry with an id less than `before` that matches `lookup`. [`Newest::Unknown`] if the file
    /// contradicts the index.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn newest(&self, file: &File, lookup: &Lookup, before: Option<u64>) -> io::Result<Newest<Entry>> {
        let place = match self.folded.summary.newest(lookup) {
            Newest::Known(place) => place,
            Newest::Nothing => return Ok(Newest::Nothing),
            Newest::Unknown => return Ok(Newest::Unknown),
        };
        if before.is_some_and(|before| place.id >= before) || place.offset >= self.folded.length {
            return Ok(Newest::Unknown);
        }
        let found = match self.folded.has_irregular_ids {
            true => entry_at(file, &self.folded.points, place.offset, self.folded.length)?,
            false => {
                let line = Forward::short(file, place.offset, self.folded.length).next()?;
                line.and_then(|line| line.entry())
            }
        };
        let found = found.filter(|entry| entry.id == place.id && lookup.matches(entry));
        Ok(found.map_or(Newest::Unknown, Newest::Known))
    }

    /// Whether the file, with `end` valid bytes, begins with the indexed part.
    pub(super) fn fits(&self, file: &File, end: u64) -> bool {
        self.folded.fits(file, end).unwrap_or(false)
    }

    /// Whether the id on some line differs from the entry's.
    pub(super) fn has_irregular_ids(&self) -> bool {
        self.folded.has_irregular_ids
    }

    /// Whether the id on a last line without a newline, which is not indexed, differs from the entry's.
    pub(super) fn ends_irregularly(&self, file: &File, end: u64) -> io::Result<bool> {
        let last = Forward::new(file, self.folded.length, end).next()?;
        let is_irregular = |entry: Entry| !Ids::behind(self.folded.last_id).grows(entry.id);
        Ok(last.and_then(|line| line.entry()).is_some_and(is_irregular))
    }

    /// Known ids by offset.
    pub(super) fn points(&self) -> &SparseIndex {
        &self.folded.points
    }

    /// Number of names in the summary.
    pub(super) fn names(&self) -> usize {
        self.folded.summary.names()
    }

    /// Records the result of a scan of the indexed lines.
    pub(super) fn learn(&mut self, lookup: &Lookup, place: Option<EntryOffset>) {
        self.folded.summary.learn(lookup, place);
    }

    /// Loads a saved index of a tape whose file has `end` valid bytes. If it is missing, invalid, or of another or a
    /// changed file, the index is empty.
    pub fn load(path: &Path, file: &File, end: u64) -> Self {
        match read(path) {
            Some(folded) if folded.makes_sense() && folded.fits(file, end).unwrap_or(false) => {
                Self { saved: folded.length, folded }
            }
            _ => Self::default(),
        }
    }

    /// Whether enough was indexed since the last save to make another worthwhile.
    pub fn is_worth_saving(&self) -> bool {
        self.folded.length.saturating_sub(self.saved) > WORTH_SAVING
    }

    /// Saves the index at `path`, mode 600; creates its directory if it is missing.
    ///
    /// # Errors
    ///
    /// It cannot be written. The index will be rebuilt then.
    pub fn save(&mut self, path: &Path) -> io::Result<()> {
        let kept = serde_json::to_string(&self.folded)?;
        let text = format!("{HEADER} {:08x}\n{kept}\n", crc32fast::hash(kept.as_bytes()));
        let dir = path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // Concurrent readers see all of it or nothing.
        let mut draft = tempfile::Builder::new().prefix(".").suffix(".new").tempfile_in(dir)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(path).map_err(|failed| failed.error)?;
        self.saved = self.folded.length;
        Ok(())
    }
}

impl Folded {
    /// Whether the file, with `end` valid bytes, still begins with the indexed part. A change in the middle that keeps
    /// the length is not detected; no program that writes tapes makes one.
    fn fits(&self, file: &File, end: u64) -> io::Result<bool> {
        if self.length > end {
            return Ok(false);
        }
        match edges(file, self.length) {
            Ok(edges) => Ok(edges == self.edges),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn fold(&mut self, file: &File, end: u64) -> io::Result<()> {
        let mut lines = Forward::new(file, self.length, end);
        while let Some(line) = lines.next()? {
            if line.ended {
                match line.entry() {
                    Some(entry) => self.add(entry, line.start),
                    None => self.summary.unreadable(),
                }
                self.length = lines.at;
            }
        }
        Ok(())
    }

    /// Adds the next entry, whose line begins at `offset`.
    fn add(&mut self, entry: Entry, offset: u64) {
        self.points.pass(IndexPoint { offset, last: self.last_id });
        let mut ids = Ids::behind(self.last_id);
        self.has_irregular_ids |= !ids.grows(entry.id);
        let id = ids.next(entry.id);
        self.summary.fold(&Entry { id, ..entry }, EntryOffset { id, offset });
        self.last_id = id;
    }

    /// Whether its numbers are consistent.
    fn makes_sense(&self) -> bool {
        self.points.are_of(self.length) && self.last_id <= 2 * LARGEST_ID
    }
}

fn edges(file: &File, length: u64) -> io::Result<[u32; 2]> {
    let mut edge = [0; EDGE];
    let size = usize::try_from(length).unwrap_or(EDGE).min(EDGE);
    let edge = edge.get_mut(..size).unwrap_or_default();
    let mut checksum = |offset| -> io::Result<u32> {
        file.read_exact_at(edge, offset)?;
        Ok(crc32fast::hash(edge))
    };
    Ok([checksum(0)?, checksum(length - size as u64)?])
}

/// The saved index at `path`, if it is intact.
fn read(path: &Path) -> Option<Folded> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST_KEPT).read_to_string(&mut text).ok()?;
    let (header, kept) = text.split_once('\n')?;
    let kept = kept.strip_suffix('\n')?;
    let expected = format!("{HEADER} {:08x}", crc32fast::hash(kept.as_bytes()));
    if header == expected { serde_json::from_str(kept).ok() } else { None }
}
