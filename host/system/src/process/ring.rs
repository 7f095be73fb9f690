//! A ring buffer of a program's output.

use std::collections::VecDeque;

/// Bytes of a program's output that are kept: the last ones.
pub const RING_BYTES: usize = 1 << 20;

/// The maximum length of a UTF-8 character, in bytes.
const MAX_CHAR: usize = 4;

/// Output by absolute offset: the first byte that a program writes has offset 0, even after it was discarded.
#[derive(Default)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    /// The offset of the oldest byte that is kept.
    start: u64,
    /// Whether the output has ended.
    closed: bool,
}

/// A part of the output, as text.
pub(super) struct Chunk {
    pub(super) text: String,
    /// The offset after the text.
    pub(super) next: u64,
    /// Bytes between the requested offset and the text that were discarded.
    pub(super) gone: u64,
}

impl Ring {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let mut surplus = self.bytes.len().saturating_sub(RING_BYTES);
        if surplus > 0 {
            // Discard whole characters, so that the ring begins with one.
            let torn = self.bytes.range(surplus..).take(MAX_CHAR - 1).take_while(|byte| continues(**byte)).count();
            surplus += torn;
            self.bytes.drain(..surplus);
            self.start += surplus as u64;
        }
    }

    /// Marks the end of the output: an incomplete character stays so.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The offset after all output.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Reads the text from `offset`, at most `max` bytes of output but at least one character. An offset after the end
    /// counts as the end, one inside a character as that character's start. A character whose rest may still come is
    /// left for the next read; invalid UTF-8 becomes U+FFFD.
    pub(super) fn read(&self, offset: u64, max: usize) -> Chunk {
        let gone = self.start.saturating_sub(offset);
        // Both fit into `usize`: they are at most the length of the buffer.
        let from = self.character(offset.saturating_sub(self.start).min(self.bytes.len() as u64) as usize);
        let to = from.saturating_add(max.max(MAX_CHAR)).min(self.bytes.len());
        let mut bytes: Vec<u8> = self.bytes.range(from..to).copied().collect();
        if to < self.bytes.len() || !self.closed {
            bytes.truncate(bytes.len() - unfinished(&bytes));
        }
        let next = self.start + (from + bytes.len()) as u64;
        Chunk { text: String::from_utf8_lossy(&bytes).into_owned(), next, gone }
    }

    /// The start of the character that contains the byte at `index`.
    fn character(&self, index: usize) -> usize {
        for back in 0..MAX_CHAR.min(index + 1) {
            match self.bytes.get(index - back) {
                Some(byte) if continues(*byte) => {}
                Some(byte) if length(*byte) > back => return index - back,
                // Past the end, or after a complete character: not part of one.
                Some(_) | None => return index,
            }
        }
        index
    }
}

/// Whether a byte is a UTF-8 continuation byte.
fn continues(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// The length of the character that begins with this byte.
fn length(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// The length of an incomplete character at the end.
fn unfinished(bytes: &[u8]) -> usize {
    let rest = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    match str::from_utf8(rest) {
        Err(error) if error.error_len().is_none() => rest.len(),
        Ok(_) | Err(_) => 0,
    }
}
