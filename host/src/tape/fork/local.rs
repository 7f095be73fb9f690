//! What a fork holds of its own.

use std::collections::BTreeMap;

use super::super::name::archive_beside;
use super::super::store::{Reset, next_id};
use super::{Batch, Commit, Draft, Entry, Error, Result};

/// The fork's own entries of the tape and its sidecars, by name.
#[derive(Default)]
pub(in super::super) struct Locals {
    pub(in super::super) tapes: BTreeMap<String, Local>,
    /// The tape was emptied here, and its sidecars with it: the parent is not seen, and is emptied at the merge.
    reset: Option<Reset>,
    pub(super) stage: Stage,
}

#[derive(Default)]
pub(in super::super) struct Local {
    pub(in super::super) entries: Vec<Entry>,
    /// The parent's last id when the first entry was written here.
    base: Option<u64>,
    /// This tape alone was emptied here, or has entries for the archive of all.
    reset: Option<Reset>,
}

#[derive(Default, PartialEq, Clone, Copy)]
pub(super) enum Stage {
    #[default]
    Open,
    Merging,
    Merged,
}

impl Locals {
    /// Nothing is left here.
    pub(super) fn merged() -> Self {
        Self { stage: Stage::Merged, ..Self::default() }
    }

    /// How much of the parent's tape is seen: entries up to this id (none: all of them).
    pub(super) fn bound(&self, tape: &str) -> Option<u64> {
        if self.is_reset(tape) { Some(0) } else { self.tapes.get(tape).and_then(|local| local.base) }
    }

    pub(super) fn is_reset(&self, tape: &str) -> bool {
        self.reset.is_some() || self.tapes.get(tape).is_some_and(|local| local.reset.is_some())
    }

    /// The ids that the batches' first drafts will have. `last` is the parent's last id for each batch.
    pub(super) fn check(&self, main: &str, commit: &Commit, last: &[u64]) -> Result<Vec<u64>> {
        let all_reset = commit.batches.iter().any(|batch| batch.tape == main && batch.reset.is_some());
        let mut first = Vec::with_capacity(commit.batches.len());
        for (batch, parent) in commit.batches.iter().zip(last) {
            let own = self.tapes.get(&batch.tape).and_then(|local| local.entries.last());
            let last = match own {
                _ if all_reset || batch.reset.is_some() => 0,
                Some(own) => own.id,
                None => self.bound(&batch.tape).unwrap_or(*parent),
            };
            if batch.expect_last.is_some_and(|expected| expected != last) {
                return Err(Error::Conflict { last });
            }
            first.push(next_id(last, batch.drafts.len())?);
        }
        Ok(first)
    }

    pub(in super::super) fn apply(&mut self, main: &str, batch: Batch, first: u64, last: u64) {
        match batch.reset {
            Some(reset) if batch.tape == main => self.empty_all(main, reset),
            Some(reset) => self.empty(&batch.tape, reset),
            None => {}
        }
        if batch.drafts.is_empty() {
            return;
        }
        let base = self.bound(&batch.tape).unwrap_or(last);
        let local = self.tapes.entry(batch.tape).or_default();
        local.base.get_or_insert(base);
        local.entries.extend((first..).zip(batch.drafts).map(|(id, draft)| draft.numbered(id)));
    }

    /// What was written here in front of a reset goes where the parent's entries go.
    fn empty_all(&mut self, main: &str, reset: Reset) {
        // What is thrown away without an archive once stays so, and an archive that was asked for once is made.
        let archive = match self.reset.take() {
            Some(earlier) => earlier.archive,
            None => reset.archive,
        };
        let mut kept = BTreeMap::new();
        for (name, local) in std::mem::take(&mut self.tapes) {
            let own = if local.reset.is_some() { None } else { archive.as_deref() };
            let archive = own.map(|archive| archive_beside(archive, main, &name));
            let mut reset = local.reset.unwrap_or(Reset { archive, kept: Vec::new() });
            reset.keep(local.entries);
            kept.insert(name, Local { reset: Some(reset), ..Local::default() });
        }
        let own = kept.remove(main).and_then(|local| local.reset);
        let kept_of_main = own.map_or_else(Vec::new, |reset| reset.kept);
        self.tapes = kept;
        self.reset = Some(Reset { archive, kept: kept_of_main });
    }

    fn empty(&mut self, tape: &str, reset: Reset) {
        let whole = self.reset.is_some();
        let local = self.tapes.entry(tape.to_owned()).or_default();
        let entries = std::mem::take(&mut local.entries);
        local.base = None;
        let mut reset = match local.reset.take() {
            Some(earlier) => earlier,
            // All was emptied before: nothing of the parent's is left to keep.
            None if whole => Reset { archive: None, kept: Vec::new() },
            None => reset,
        };
        reset.keep(entries);
        local.reset = Some(reset);
    }

    /// All that was written here, sidecars first.
    pub(in super::super) fn begin_merge(&mut self, main: &str) -> Commit {
        self.stage = Stage::Merging;
        let batch = |tape: &str, reset: Option<Reset>, entries: &[Entry]| Batch {
            tape: tape.to_owned(),
            reset,
            drafts: entries.iter().cloned().map(Draft::from).collect(),
            expect_last: None,
        };
        let mut batches = Vec::new();
        let mut own = &[][..];
        for (name, local) in &self.tapes {
            if name == main {
                own = &local.entries;
            } else if !local.entries.is_empty() || local.reset.is_some() {
                batches.push(batch(name, local.reset.clone(), &local.entries));
            }
        }
        if self.reset.is_some() || !own.is_empty() {
            batches.push(batch(main, self.reset.clone(), own));
        }
        Commit { key: None, batches }
    }
}

impl Reset {
    /// Without an archive nothing is kept.
    fn keep(&mut self, entries: Vec<Entry>) {
        if self.archive.is_some() {
            self.kept.extend(entries.into_iter().map(Draft::from));
        }
    }
}
