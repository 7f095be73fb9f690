//! The commit record: the pending and the last write of a tape, kept in its lock file.
//!
//! Two slots are written in turn, so that a torn write to one leaves the other intact.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::super::failpoint;

/// The size of a slot in bytes, so that no sector belongs to both.
const SLOT_SIZE: usize = 4096;

/// The maximum length in bytes of a record.
pub(super) const MAX_LENGTH: usize = SLOT_SIZE - 256;

/// The largest valid sequence number. Larger ones are corrupt, and could overflow.
const MAX_SEQ: u64 = u64::MAX / 2;

/// The write state of a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommitRecord {
    /// Sequence number: the slot with the higher one is current.
    pub(super) seq: u64,
    /// The key of the last write that had one.
    pub(super) merged: Option<String>,
    /// A write that was begun: committed if all its blocks are intact, else rolled back.
    pub(super) pending: Option<Pending>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) key: Option<String>,
    pub(super) blocks: Vec<Block>,
}

/// Bytes that a write appends to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    /// The name of the file, below the directory of tapes.
    pub(super) file: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) crc: u32,
}

impl CommitRecord {
    /// Reads the current record; an empty one if neither slot is valid.
    pub(super) fn read(file: &File) -> io::Result<Self> {
        Ok(Slots::read(file)?.record())
    }

    /// Writes the next record to the slot that is not current.
    pub(super) fn write(&mut self, file: &File, step: &str, sync: bool) -> io::Result<()> {
        let next = Self { seq: self.seq.wrapping_add(1), ..self.clone() };
        let text = serde_json::to_string(&next)?;
        let bytes = format!("{:08x} {} {text}\n", crc32fast::hash(text.as_bytes()), text.len());
        if bytes.len() > SLOT_SIZE {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "one write goes to too many sidecars"));
        }
        let slot = if next.seq.is_multiple_of(2) { 0 } else { SLOT_SIZE as u64 };
        failpoint::write(step, file, bytes.as_bytes(), slot)?;
        if sync {
            file.sync_data()?;
        }
        *self = next;
        Ok(())
    }
}

/// A snapshot of both slots.
pub(super) struct Slots {
    bytes: [u8; 2 * SLOT_SIZE],
    /// A checksum of both slots: two snapshots with the same one saw no write between them. The sequence number would
    /// not do, since a slot that is being written is invalid and the other one is older.
    pub(super) sum: u32,
}

impl Slots {
    pub(super) fn read(file: &File) -> io::Result<Self> {
        let mut bytes = [0; 2 * SLOT_SIZE];
        // A file gives all that it has at once: less is its end.
        while let Err(error) = file.read_at(&mut bytes, 0) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(Self { sum: crc32fast::hash(&bytes), bytes })
    }

    /// The current record; an empty one if neither slot is valid.
    pub(super) fn record(&self) -> CommitRecord {
        let (first, second) = self.bytes.split_at(SLOT_SIZE);
        let newer = match (decode(first), decode(second)) {
            (Some(first), Some(second)) => Some(if first.seq > second.seq { first } else { second }),
            (first, second) => first.or(second),
        };
        newer.unwrap_or_default()
    }
}

fn decode(slot: &[u8]) -> Option<CommitRecord> {
    let end = slot.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(slot.get(..end)?).ok()?;
    let (sum, rest) = line.split_once(' ')?;
    let (length, text) = rest.split_once(' ')?;
    let whole = length.parse() == Ok(text.len()) && sum == format!("{:08x}", crc32fast::hash(text.as_bytes()));
    let record: Option<CommitRecord> = if whole { serde_json::from_str(text).ok() } else { None };
    record.filter(|record| record.seq < MAX_SEQ)
}

/// Whether the block is complete in its file.
pub(super) fn is_intact(file: &File, block: &Block) -> io::Result<bool> {
    let end = block.offset.checked_add(block.length);
    if end.is_none_or(|end| file.metadata().map_or(0, |found| found.len()) < end) {
        return Ok(false);
    }
    let mut sum = crc32fast::Hasher::new();
    let mut part = vec![0; 64 * 1024];
    let (mut at, mut left) = (block.offset, block.length);
    while left > 0 {
        let size = left.min(part.len() as u64) as usize;
        let part = part.get_mut(..size).unwrap_or_default();
        file.read_exact_at(part, at)?;
        sum.update(part);
        at += size as u64;
        left -= size as u64;
    }
    Ok(sum.finalize() == block.crc)
}
