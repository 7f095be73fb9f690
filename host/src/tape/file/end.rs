//! How a tape's file ends, and how an append finds it again.

use std::collections::VecDeque;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::scan::{Backward, Line};

/// How many tapes are remembered.
const REMEMBERED: usize = 64;

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Its length in bytes.
    pub(super) length: u64,
    /// The id of the last entry that can be read; 0 where there is none.
    pub(super) last_id: u64,
    pub(super) tail: Tail,
}

/// What stands behind the last newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    Nothing,
    /// A whole entry, whose newline was lost.
    Whole,
    /// Part of a line, from here on: whoever wrote it was cut off.
    Torn(u64),
}

impl End {
    pub(super) const EMPTY: Self = Self { length: 0, last_id: 0, tail: Tail::Nothing };

    /// Looks at the end of a file, as far back as the last entry that can be read.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let mut end = Self { length: file.metadata()?.len(), ..Self::EMPTY };
        let mut lines = Backward::new(file, end.length)?;
        while let Some(line) = lines.next()? {
            let entry = line.entry();
            if let Line { start, ended: false, .. } = line {
                end.tail = if entry.is_some() { Tail::Whole } else { Tail::Torn(start) };
            }
            if let Some(entry) = entry {
                end.last_id = entry.id;
                break;
            }
        }
        Ok(end)
    }
}

/// Moves what stands behind `start` to the file for torn lines, where each has its own line.
pub(super) fn set_aside(mut file: &File, start: u64, torn: &Path) -> io::Result<()> {
    let mut aside = OpenOptions::new().append(true).create(true).mode(0o600).open(torn)?;
    file.seek(SeekFrom::Start(start))?;
    io::copy(&mut file, &mut aside)?;
    aside.write_all(b"\n")?;
    file.set_len(start)
}

/// What an append left behind, for the next one to the same tape. A hint: good only while the file is the same and as
/// long as it was.
#[derive(Default)]
pub(super) struct Ends(Mutex<VecDeque<Known>>);

struct Known {
    tape: String,
    inode: u64,
    length: u64,
    last_id: u64,
    /// In this process appends to a tape wait for each other here, in order; between processes at the file lock.
    queue: Arc<tokio::sync::Mutex<()>>,
}

impl Ends {
    pub(super) fn queue(&self, tape: &str) -> Arc<tokio::sync::Mutex<()>> {
        self.with(tape, |known| Arc::clone(&known.queue))
    }

    pub(super) fn recall(&self, tape: &str, file: &Metadata) -> Option<End> {
        self.with(tape, |known| {
            let same = known.inode == file.ino() && known.length == file.len();
            same.then_some(End { length: known.length, last_id: known.last_id, tail: Tail::Nothing })
        })
    }

    pub(super) fn remember(&self, tape: &str, file: &Metadata, last_id: u64) {
        self.with(tape, |known| {
            known.inode = file.ino();
            known.length = file.len();
            known.last_id = last_id;
        });
    }

    pub(super) fn forget(&self, tape: &str) {
        // No file has this inode.
        self.with(tape, |known| known.inode = 0);
    }

    /// The tape's place, moved to the front; the one that was not used for the longest time falls out behind.
    fn with<T>(&self, tape: &str, act: impl FnOnce(&mut Known) -> T) -> T {
        let mut tapes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = tapes.iter().position(|known| known.tape == tape);
        let mut known = place.and_then(|place| tapes.remove(place)).unwrap_or_else(|| Known {
            tape: tape.to_owned(),
            inode: 0,
            length: 0,
            last_id: 0,
            queue: Arc::default(),
        });
        let result = act(&mut known);
        tapes.push_front(known);
        tapes.truncate(REMEMBERED);
        result
    }
}
