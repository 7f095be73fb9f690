//! The end of a tape, and a few older entries.

use bub_tape::{Entry, Lookup};

/// All entries from an id on, and what is known of those before.
#[derive(Default)]
pub(crate) struct Window {
    last_id: u64,
    /// 0: the whole tape.
    from: u64,
    entries: Vec<Entry>,
    first: Option<Entry>,
    /// The newest match before the window.
    older: Vec<(Lookup, Option<Entry>)>,
}

impl Window {
    pub(super) fn new(last_id: u64, from: u64) -> Self {
        Self { last_id, from, ..Self::default() }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    pub(super) fn set_first(&mut self, entry: Entry) {
        self.first = Some(entry);
    }

    pub(super) fn set_older(&mut self, lookup: Lookup, found: Option<Entry>) {
        self.older.push((lookup, found));
    }

    pub(super) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Entries after an id, if the window has them.
    pub(super) fn read(&self, after: u64, max: usize) -> Option<Vec<Entry>> {
        if after >= self.from.saturating_sub(1) {
            let from = self.entries.partition_point(|entry| entry.id <= after);
            return Some(self.entries.iter().skip(from).take(max).cloned().collect());
        }
        let first = self.first.as_ref().filter(|_| after == 0 && max == 1)?;
        Some(vec![first.clone()])
    }

    /// The newest entries before an id, if the window has as many or the whole tape.
    pub(super) fn tail(&self, before: Option<u64>, max: usize) -> Option<Vec<Entry>> {
        let end = self.end(before);
        let count = end.min(max);
        (self.from == 0 || count == max).then(|| self.entries.iter().take(end).skip(end - count).cloned().collect())
    }

    /// The newest match before an id.
    pub(super) fn newest(&self, lookup: &Lookup, before: Option<u64>) -> Option<Option<Entry>> {
        let own = self.entries.iter().take(self.end(before)).rev().find(|entry| lookup.matches(entry));
        if own.is_some() || self.from == 0 {
            return Some(own.cloned());
        }
        let (_, older) = self.older.iter().find(|(known, _)| known == lookup)?;
        match older {
            Some(older) if before.is_some_and(|before| older.id >= before) => None,
            older => Some(older.clone()),
        }
    }

    /// The newest phase.
    pub(super) fn since_anchor(&self) -> Option<Vec<Entry>> {
        match self.entries.iter().rposition(Entry::begins_phase) {
            Some(begin) => Some(self.entries.iter().skip(begin).cloned().collect()),
            None => (self.from == 0).then(|| self.entries.clone()),
        }
    }

    /// How many entries of the window have lower ids.
    fn end(&self, before: Option<u64>) -> usize {
        before.map_or(self.entries.len(), |before| self.entries.partition_point(|entry| entry.id < before))
    }
}
