//! The outline of a tape: counts by kind, and its newest anchors.

use std::collections::{BTreeMap, VecDeque};

use bub_types::text::clipped;

use super::entry::Entry;
use super::error::Result;
use super::handle::Tape;

/// Entries per step.
const PAGE: usize = 256;

/// Maximum number of anchors, and the length of their names in characters.
const MAX_ANCHORS: usize = 500;
const MAX_NAME: usize = 200;

/// Maximum number of kinds; the entries of further ones count as [`OTHER`].
const MAX_KINDS: usize = 64;
const OTHER: &str = "other";

/// The outline of a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapeOutline {
    /// The number of entries.
    pub entries: u64,
    /// The id of the first entry; 0 without one. Erased entries leave gaps between the ids.
    pub first: u64,
    /// The id of the last entry; 0 without one.
    pub last: u64,
    /// The number of entries of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// The newest 500 anchors that begin a phase, oldest first.
    pub anchors: VecDeque<AnchorOutline>,
}

/// An anchor of a [`TapeOutline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorOutline {
    /// Its id.
    pub id: u64,
    /// Its name, at most 200 characters.
    pub name: String,
    /// Its date.
    pub date: String,
}

impl TapeOutline {
    /// The outline of that tape. Reads all of it, page by page.
    ///
    /// # Errors
    ///
    /// The tape cannot be read.
    pub async fn read(tape: &Tape) -> Result<Self> {
        let mut outline = Self::default();
        loop {
            let page = tape.read(outline.last, PAGE).await?;
            if page.is_empty() {
                return Ok(outline);
            }
            page.iter().for_each(|entry| outline.count(entry));
            // Let other tasks run during a long tape.
            tokio::task::yield_now().await;
        }
    }

    fn count(&mut self, entry: &Entry) {
        if self.entries == 0 {
            self.first = entry.id;
        }
        self.entries += 1;
        self.last = entry.id;
        match self.kinds.get_mut(&*entry.kind) {
            Some(count) => *count += 1,
            None => {
                let kind = if self.kinds.len() < MAX_KINDS { &*entry.kind } else { OTHER };
                *self.kinds.entry(kind.to_owned()).or_default() += 1;
            }
        }
        if entry.begins_phase() {
            if self.anchors.len() == MAX_ANCHORS {
                self.anchors.pop_front();
            }
            let name = clipped(&entry.name().unwrap_or_default(), MAX_NAME);
            self.anchors.push_back(AnchorOutline { id: entry.id, name, date: entry.date.to_string() });
        }
    }
}
