//! A fork's own entries.

use std::collections::BTreeMap;

use super::super::info::Info;
use super::super::interruption;
use super::super::name::archive_beside;
use super::super::store::{Reset, next_id};
use super::{Batch, Commit, Draft, Entry, Error, Result};

/// The fork's own entries of the tape and its sidecars, by name.
#[derive(Default)]
pub(in super::super) struct ForkState {
    pub(in super::super) tapes: BTreeMap<String, TapeState>,
    /// The tape and its sidecars were reset here: the parent is hidden, and reset at the merge.
    reset: Option<Reset>,
    pub(super) stage: Stage,
    /// Tool calls that have begun and are not recorded in an entry yet, as JSON.
    begun_tools: Vec<String>,
}

#[derive(Default)]
pub(in super::super) struct TapeState {
    pub(in super::super) entries: Vec<Entry>,
    /// The parent's last id at the first write.
    base: Option<u64>,
    /// This tape alone was reset here, or has entries for the archive of all.
    reset: Option<Reset>,
    /// Statistics of that many entries; entries are only removed all at once.
    counted: (usize, Info),
}

impl TapeState {
    /// Statistics of the entries, updated incrementally.
    pub(super) fn counts(&mut self) -> &Info {
        let (looked_at, info) = &mut self.counted;
        self.entries.iter().skip(*looked_at).for_each(|entry| info.count(entry));
        *looked_at = self.entries.len();
        info
    }
}

#[derive(Default, PartialEq, Clone, Copy)]
pub(super) enum Stage {
    #[default]
    Open,
    Merging,
    /// The merge failed or was cancelled: its entries may be in the store.
    Unsure,
    Merged,
}

impl ForkState {
    /// Nothing is left to merge.
    pub(super) fn merged() -> Self {
        Self { stage: Stage::Merged, ..Self::default() }
    }

    /// Whether writes, or a merge, are accepted.
    pub(super) fn check_open(&self, merge: bool) -> Result<()> {
        match self.stage {
            Stage::Open => Ok(()),
            Stage::Unsure if merge => Ok(()),
            Stage::Unsure => Err(Error::invalid("this turn is being merged and accepts no more writes")),
            Stage::Merging => Err(Error::invalid("this fork is being merged")),
            Stage::Merged => Err(Error::invalid("this fork was merged already")),
        }
    }

    /// The bound of the parent's visible entries (`None`: all are visible).
    pub(super) fn bound(&self, tape: &str) -> Option<u64> {
        if self.is_reset(tape) { Some(0) } else { self.tapes.get(tape).and_then(|local| local.base) }
    }

    pub(super) fn is_reset(&self, tape: &str) -> bool {
        self.reset.is_some() || self.tapes.get(tape).is_some_and(|local| local.reset.is_some())
    }

    /// Checks a commit, and returns the ids of the batches' first drafts. `last` has the parent's last id for each
    /// batch.
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

    /// Records that a tool with an irrevocable effect began. `call` is the model's call, as JSON.
    pub(in super::super) fn begin_tool(&mut self, main: &str, call: &str) {
        let entries = self.tapes.get(main).map_or(&[][..], |local| &local.entries);
        // If the call was already written to the tape, that entry is the open one.
        let open = interruption::open_calls(entries.iter().map(|entry| (&*entry.kind, &*entry.payload)));
        if !open.is_some_and(|payload| interruption::holds_call(payload, call)) {
            self.begun_tools.push(call.to_owned());
        }
    }

    /// Forgets the record of a tool that has ended without an entry.
    pub(in super::super) fn end_tool(&mut self, call: &str) {
        interruption::forget(&mut self.begun_tools, call);
    }

    /// Entries that close interrupted calls: results for open calls, and for calls that began but were not written,
    /// calls and results.
    pub(in super::super) fn interrupted_calls(&self, main: &str) -> Result<Vec<Draft>> {
        let entries = self.tapes.get(main).map_or(&[][..], |local| &local.entries);
        interruption::close(entries.iter().map(|entry| (&*entry.kind, &*entry.payload)), &self.begun_tools)
    }

    /// Applies a commit: each batch with the id of its first draft, and the parent's last id.
    pub(in super::super) fn apply(&mut self, main: &str, batches: impl IntoIterator<Item = (Batch, u64, u64)>) {
        let mut written = Vec::new();
        let mut all = None;
        for (mut batch, first, last) in batches {
            match batch.reset.take() {
                // After the resets of its sidecars and before all writes, whatever their order in the commit.
                Some(reset) if batch.tape == main => all = Some(reset),
                Some(reset) => self.empty(main, &batch.tape, reset),
                None => {}
            }
            written.push((batch, first, last));
        }
        if let Some(reset) = all {
            self.empty_all(main, reset);
        }
        for (batch, first, last) in written.into_iter().filter(|(batch, ..)| !batch.drafts.is_empty()) {
            let base = self.bound(&batch.tape).unwrap_or(last);
            if batch.tape == main {
                let calls = batch.drafts.iter().filter(|draft| draft.kind() == interruption::CALLS);
                calls.for_each(|draft| interruption::forget_written(&mut self.begun_tools, draft.payload()));
            }
            let local = self.tapes.entry(batch.tape).or_default();
            local.base.get_or_insert(base);
            local.entries.extend((first..).zip(batch.drafts).map(|(id, draft)| draft.numbered(id)));
        }
    }

    /// Entries that were written here before a reset go where the parent's entries go.
    fn empty_all(&mut self, main: &str, reset: Reset) {
        // A reset without an archive is final; an archive that was requested once is made.
        let mut all = self.reset.take().unwrap_or(Reset { archive: reset.archive, kept: Vec::new() });
        for (name, local) in std::mem::take(&mut self.tapes) {
            if name == main {
                all.keep(local.entries.into_iter().map(Draft::from));
                continue;
            }
            let archive = all.archive.as_deref().map(|archive| archive_beside(archive, main, &name));
            let mut emptied = local.reset.unwrap_or(Reset { archive, kept: Vec::new() });
            emptied.keep(local.entries.into_iter().map(Draft::from));
            self.tapes.insert(name, TapeState { reset: Some(emptied), ..TapeState::default() });
        }
        all.keep(reset.kept);
        self.reset = Some(all);
    }

    fn empty(&mut self, main: &str, tape: &str, reset: Reset) {
        let archive = match &self.reset {
            // A reset of all came first: later local entries follow it.
            Some(all) => {
                let archive = all.archive.as_deref().filter(|_| reset.archive.is_some());
                archive.map(|archive| archive_beside(archive, main, tape))
            }
            None => reset.archive,
        };
        let local = self.tapes.entry(tape.to_owned()).or_default();
        let mut emptied = local.reset.take().unwrap_or(Reset { archive, kept: Vec::new() });
        emptied.keep(std::mem::take(&mut local.entries).into_iter().map(Draft::from));
        emptied.keep(reset.kept);
        *local = TapeState { reset: Some(emptied), ..TapeState::default() };
    }

    /// All local entries, sidecars first.
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
    fn keep(&mut self, drafts: impl IntoIterator<Item = Draft>) {
        if self.archive.is_some() {
            self.kept.extend(drafts);
        }
    }
}
