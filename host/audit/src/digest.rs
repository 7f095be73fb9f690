//! Digests of entries and of records, as hex.

use bub_tape::Entry;
use bub_types::text::hex;
use sha2::{Digest, Sha256};

/// The value that stands for "no record before this one".
pub(crate) const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// SHA-256 of what an entry says: its kind, payload, meta and date. Its id is part of the record that names the digest.
pub fn entry_digest(entry: &Entry) -> String {
    let mut sum = Sha256::new();
    sum.update(b"bub entry 1\n");
    for part in [&entry.kind, &entry.payload, &entry.meta, &entry.date] {
        // The lengths keep the border between two parts from being moved.
        sum.update((part.len() as u64).to_be_bytes());
        sum.update(part.as_bytes());
    }
    hex(&sum.finalize())
}

/// SHA-256 of the text of a record, which names the record before it.
pub(crate) fn record_digest(record: &str) -> String {
    let mut sum = Sha256::new();
    sum.update(b"bub chain 1\n");
    sum.update(record.as_bytes());
    hex(&sum.finalize())
}

/// SHA-256 of a line of the list of heads.
pub(crate) fn line_digest(line: &str) -> String {
    let mut sum = Sha256::new();
    sum.update(b"bub heads 1\n");
    sum.update(line.as_bytes());
    hex(&sum.finalize())
}

/// Whether the text is a SHA-256 in lower-case hex.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
