//! The end of a tape's file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::super::{date, failpoint};
use super::scan::{Backward, Forward, Line};

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Its length in bytes.
    pub(super) length: u64,
    /// The id of the last readable entry; 0 without one.
    pub(super) last_id: u64,
    pub(super) has_entry: bool,
    pub(super) tail: Tail,
}

/// The bytes after the last newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    Nothing,
    /// A complete entry whose newline was lost.
    Whole,
    /// A torn line, beginning at this offset.
    Torn(u64),
}

impl End {
    pub(super) const EMPTY: Self = Self { length: 0, last_id: 0, has_entry: false, tail: Tail::Nothing };

    /// Reads backward from `length` to the last readable entry. The id is the one on its line.
    pub(super) fn read(file: &File, length: u64) -> io::Result<Self> {
        let mut end = Self { length, ..Self::EMPTY };
        let mut lines = Backward::new(file, end.length)?;
        while let Some(line) = lines.next()? {
            let entry = line.entry();
            if let Line { start, ended: false, .. } = line {
                end.tail = if entry.is_some() { Tail::Whole } else { Tail::Torn(start) };
            }
            if let Some(entry) = entry {
                (end.last_id, end.has_entry) = (entry.id, true);
                break;
            }
        }
        Ok(end)
    }
}

/// Moves the bytes after `start` to the file for torn lines, preceded by a line with position and date.
pub(super) fn set_aside(file: &File, start: u64, torn: &Path) -> io::Result<()> {
    let mut aside = OpenOptions::new().append(true).create(true).mode(0o600).open(torn)?;
    let length = file.metadata()?.len();
    writeln!(aside, "# {} bytes from {start}, {}", length.saturating_sub(start), date::now())?;
    let mut lines = Forward::new(file, start, length);
    while let Some(line) = lines.next()? {
        aside.write_all(&line.bytes)?;
        aside.write_all(b"\n")?;
    }
    aside.sync_data()?;
    failpoint::point("commit.aside");
    file.set_len(start)
}
