//! Erasing entries from a tape permanently: besides a reset, the only operation that changes existing entries.

use std::collections::BTreeMap;

use super::draft::{Draft, event};
use super::entry::Entry;
use super::error::Result;
use super::forgotten::{digest_of, without_words};

/// The event that says on a tape what was taken out of it.
pub const ERASED: &str = "tape.erased";

/// What is taken out of one tape. It names entries by id and digest: one that says something else by now stays.
#[derive(Clone, Debug, Default)]
pub struct Erasure {
    chosen: BTreeMap<u64, String>,
    receipt: Option<Draft>,
}

/// What becomes of an entry.
pub(super) enum Verdict {
    Stays,
    Goes,
    /// It stays without its words: an anchor, which tells where a phase of the conversation begins.
    Blanked(Entry),
}

impl Erasure {
    /// Takes out these entries of a tape, as they were read from it.
    pub fn new<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        let chosen = entries.into_iter().map(|entry| (entry.id, digest_of(entry))).collect();
        Self { chosen, receipt: None }
    }

    /// Names one more.
    pub(super) fn add(&mut self, entry: &Entry) {
        self.chosen.insert(entry.id, digest_of(entry));
    }

    /// Names all that the other one does.
    pub(super) fn add_all(&mut self, other: Self) {
        self.chosen.extend(other.chosen);
    }

    /// The same, with a receipt at the tape's end: ids and digests, and who asked for it. The date is the receipt's own.
    ///
    /// # Errors
    ///
    /// None: what it says is JSON.
    pub fn with_receipt(mut self, by: &str) -> Result<Self> {
        let entries = self.chosen.iter().map(|(id, digest)| serde_json::json!({ "id": id, "digest": digest }));
        let data = serde_json::json!({ "by": by, "entries": entries.collect::<Vec<_>>() });
        self.receipt = Some(event(ERASED, &data.to_string())?.with_meta("context", "false")?);
        Ok(self)
    }

    /// How many entries are named.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    /// Whether no entry is to be erased.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    pub(super) fn receipt(&self) -> Option<&Draft> {
        self.receipt.as_ref()
    }

    pub(super) fn verdict(&self, entry: &Entry) -> Verdict {
        match self.chosen.get(&entry.id) {
            Some(digest) if *digest == digest_of(entry) && entry.begins_phase() => {
                Verdict::Blanked(without_words(entry))
            }
            Some(digest) if *digest == digest_of(entry) => Verdict::Goes,
            _ => Verdict::Stays,
        }
    }
}
