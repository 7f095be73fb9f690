//! What is remembered of a tape's file, and kept beside the tapes.

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

/// Stands before what is kept, with its checksum behind it. The number changes with the form, and with every rule by
/// which a summary is made.
const HEADER: &str = "bub-wasm index 5";

/// The longest file that is read, in bytes: more than any summary fills.
const LONGEST_KEPT: u64 = 4 * 1024 * 1024;

/// How much of the beginning and of the end of what was folded is compared with the file, in bytes.
const EDGE: usize = 4 * 1024;

/// How many bytes must have been folded since the last save for another to be worth its price.
const WORTH_SAVING: u64 = 256 * 1024;

/// The summary of a tape's file, as far as the file was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    folded: Folded,
    /// How many bytes had been folded at the last save.
    saved: u64,
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Folded {
    summary: TapeSummary,
    length: u64,
    last_id: u64,
    /// Whether an entry's line says another id than the entry has.
    #[serde(default)]
    has_irregular_ids: bool,
    #[serde(default)]
    points: SparseIndex,
    /// CRC-32 of the first and of the last [`EDGE`] bytes of what was folded.
    edges: [u32; 2],
}

impl Index {
    /// What the folded lines amount to.
    pub fn summary(&self) -> &TapeSummary {
        &self.folded.summary
    }

    /// How many bytes were folded, from the beginning of the file; a line begins behind them.
    pub fn length(&self) -> u64 {
        self.folded.length
    }

    /// The id of the last entry that was folded; 0 where there is none.
    pub fn last_id(&self) -> u64 {
        self.folded.last_id
    }

    /// Folds the lines behind those that were folded, as far as they end before `end`: the length of the file, or how
    /// much of it is valid. A last line without its newline may still grow, so it waits. Where the file is no longer
    /// the one that was folded, all of it is folded anew.
    ///
    /// It holds one line in memory, which is at most 64 MiB, and rarely more than one block.
    ///
    /// # Errors
    ///
    /// The file cannot be read. What was folded until then counts.
    pub fn catch_up(&mut self, file: &File, end: u64) -> io::Result<()> {
        if !self.folded.fits(file, end)? {
            *self = Self::default();
        }
        self.go_on(file, end)
    }

    /// The same, for the very file that was folded.
    pub(super) fn go_on(&mut self, file: &File, end: u64) -> io::Result<()> {
        let before = self.folded.length;
        let result = self.folded.fold(file, end);
        if self.folded.length > before {
            self.folded.edges = edges(file, self.folded.length)?;
        }
        result
    }

    /// The same for lines that need not be read: entries with where their lines begin, up to `end`.
    pub(super) fn extend(&mut self, file: &File, written: impl Iterator<Item = (Entry, u64)>, end: u64) {
        // Without the checksums it fits no file, and all is folded anew.
        let Ok(edges) = edges(file, end) else { return };
        for (entry, offset) in written {
            self.folded.add(entry, offset);
        }
        (self.folded.length, self.folded.edges) = (end, edges);
    }

    /// The summary of all lines that [`catch_up`](Self::catch_up) saw, with the last one that lacks its newline.
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

    /// The newest entry with an id less than `before` that matches `lookup`, among those that were folded. What the
    /// file does not bear out is [`Newest::Unknown`].
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

    /// Whether the file, of which `end` bytes are valid, begins with what was folded.
    pub(super) fn fits(&self, file: &File, end: u64) -> bool {
        self.folded.fits(file, end).unwrap_or(false)
    }

    /// Whether an entry's line says another id than the entry has.
    pub(super) fn has_irregular_ids(&self) -> bool {
        self.folded.has_irregular_ids
    }

    /// Where in the file which ids are.
    pub(super) fn points(&self) -> &SparseIndex {
        &self.folded.points
    }

    /// How many names it holds.
    pub(super) fn names(&self) -> usize {
        self.folded.summary.names()
    }

    /// Keeps what reading the folded lines has told.
    pub(super) fn learn(&mut self, lookup: &Lookup, place: Option<EntryOffset>) {
        self.folded.summary.learn(lookup, place);
    }

    /// Reads what [`save`](Self::save) kept of a tape, whose file has `end` valid bytes. Where it cannot be read, or is
    /// of another file or of one that was changed, the index is empty: it is only there to save time.
    pub fn load(path: &Path, file: &File, end: u64) -> Self {
        match read(path) {
            Some(folded) if folded.makes_sense() && folded.fits(file, end).unwrap_or(false) => {
                Self { saved: folded.length, folded }
            }
            _ => Self::default(),
        }
    }

    /// Whether so much was folded since the last save that folding it again would cost more than another save.
    pub fn is_worth_saving(&self) -> bool {
        self.folded.length.saturating_sub(self.saved) > WORTH_SAVING
    }

    /// Keeps the index at `path`, for its owner alone; its directory is made when it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be written. Nothing but time is lost by that.
    pub fn save(&mut self, path: &Path) -> io::Result<()> {
        let kept = serde_json::to_string(&self.folded)?;
        let text = format!("{HEADER} {:08x}\n{kept}\n", crc32fast::hash(kept.as_bytes()));
        let dir = path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // Another process that reads at this moment sees all of it or nothing.
        let mut draft = tempfile::Builder::new().prefix(".").suffix(".new").tempfile_in(dir)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(path).map_err(|failed| failed.error)?;
        self.saved = self.folded.length;
        Ok(())
    }
}

impl Folded {
    /// Whether the file, of which `end` bytes are valid, still begins with what was folded. A change in its middle that
    /// keeps its length goes unseen here; no program that writes tapes makes one.
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

    /// Whether its numbers can be those of any file.
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

/// What is kept at `path`, if it is whole.
fn read(path: &Path) -> Option<Folded> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST_KEPT).read_to_string(&mut text).ok()?;
    let (header, kept) = text.split_once('\n')?;
    let kept = kept.strip_suffix('\n')?;
    let expected = format!("{HEADER} {:08x}", crc32fast::hash(kept.as_bytes()));
    if header == expected { serde_json::from_str(kept).ok() } else { None }
}
