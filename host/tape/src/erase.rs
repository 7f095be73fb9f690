//! Erasing entries from a tape permanently: besides a reset, the only operation that changes existing entries.

use std::collections::BTreeMap;

use super::draft::{Draft, event};
use super::entry::Entry;
use super::error::Result;
use super::forgotten::{digest_of, without_words};

/// The event that records an erasure.
pub const ERASED: &str = "tape.erased";

/// Entries to erase from one tape, by id and digest: an entry that has changed meanwhile is kept.
#[derive(Clone, Debug, Default)]
pub struct Erasure {
    chosen: BTreeMap<u64, String>,
    receipt: Option<Draft>,
}

/// The treatment of an entry by an erasure.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It is kept.
    Stays,
    /// It is removed.
    Goes,
    /// It is kept without its words: an anchor, at which a phase of the conversation begins.
    Blanked(Entry),
}

impl Erasure {
    /// An erasure of these entries, as read from the tape.
    pub fn new<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        let chosen = entries.into_iter().map(|entry| (entry.id, digest_of(entry))).collect();
        Self { chosen, receipt: None }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, entry: &Entry) {
        self.chosen.insert(entry.id, digest_of(entry));
    }

    /// Adds all entries of another erasure.
    pub(super) fn add_all(&mut self, other: Self) {
        self.chosen.extend(other.chosen);
    }

    /// Adds a receipt at the tape's end: ids and digests, and the requester. The date is the receipt's own.
    ///
    /// # Errors
    ///
    /// None in practice: the receipt is valid JSON.
    pub fn with_receipt(mut self, by: &str) -> Result<Self> {
        let entries = self.chosen.iter().map(|(id, digest)| serde_json::json!({ "id": id, "digest": digest }));
        let data = serde_json::json!({ "by": by, "entries": entries.collect::<Vec<_>>() });
        self.receipt = Some(event(ERASED, &data.to_string())?.with_meta("context", "false")?);
        Ok(self)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    /// Whether no entry is to be erased.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// The ids of the chosen entries, in order.
    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.chosen.keys().copied()
    }

    /// The receipt, if there is to be one and anything was erased.
    pub fn receipt(&self) -> Option<&Draft> {
        self.receipt.as_ref()
    }

    /// The verdict on an entry of the tape.
    pub fn verdict(&self, entry: &Entry) -> Verdict {
        match self.chosen.get(&entry.id) {
            Some(digest) if *digest == digest_of(entry) && entry.begins_phase() => {
                Verdict::Blanked(without_words(entry))
            }
            Some(digest) if *digest == digest_of(entry) => Verdict::Goes,
            _ => Verdict::Stays,
        }
    }
}
