//! Forks: child tapes whose writes are merged or dropped.

mod find;
mod state;
mod store;

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

use super::draft::Draft;
use super::entry::Entry;
use super::error::{Error, Result};
use super::journal::Journal;
use super::name::SIDECAR;
use super::store::{Batch, Commit, Outcome, Store};
use state::{Stage, TapeState};

pub(super) use state::ForkState;

/// A store in which one tape and its sidecars are forked: writes to them stay local until [`merge`](Fork::merge), and
/// reads show the parent's entries followed by the fork's own. Every other tape is the parent's. Dropping the fork
/// discards the writes.
///
/// A fork is a store, so forks can be nested.
///
/// The first write to a tape fixes which entries of the parent are visible: later ones appear after the merge. So ids
/// are stable during the life of the fork. The merge assigns the final ids. A turn's fork reads its tape's length once,
/// and again only if this process has seen more of it since.
pub struct Fork {
    parent: Arc<dyn Store>,
    tape: String,
    /// The journal that keeps a turn's writes until the merge, also after a crash.
    journal: Option<Arc<Journal>>,
    local: Mutex<ForkState>,
    /// The parent with the tape pinned, for a turn.
    pinned: Mutex<Option<Arc<dyn Store>>>,
}

impl Fork {
    /// A fork of `tape` in `parent`.
    pub fn new(parent: Arc<dyn Store>, tape: impl Into<String>) -> Self {
        Self { parent, tape: tape.into(), journal: None, local: Mutex::default(), pinned: Mutex::default() }
    }

    /// A turn's fork: each write is journaled before it is acknowledged.
    pub(super) fn journaled(parent: Arc<dyn Store>, tape: impl Into<String>, journal: Arc<Journal>) -> Self {
        Self { journal: Some(journal), ..Self::new(parent, tape) }
    }

    /// Writes all local entries to the parent, as one commit. Afterwards the fork shows the parent and rejects writes.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] the second time; else the parent's error, after which the fork is unchanged. A turn's
    /// fork can then be merged again, but rejects writes: its entries may already be in the store, under their key.
    pub async fn merge(&self) -> Result<()> {
        let mut commit = {
            let mut local = self.local();
            local.check_open(true)?;
            local.begin_merge(&self.tape)
        };
        // Also if the caller is cancelled: the merge may be retried.
        let _reopen = Reopen(self);
        commit.key = self.journal.as_ref().map(|journal| journal.key().to_owned());
        if !commit.batches.is_empty() {
            self.parent.commit(commit).await?;
        }
        if let Some(journal) = &self.journal {
            journal.finish()?;
        }
        *self.local() = ForkState::merged();
        *self.pin() = None;
        Ok(())
    }

    /// Ends the turn and releases the session's lease. Later writes are rejected.
    pub(super) fn close(&self) {
        let mut local = self.local();
        if local.stage != Stage::Merging {
            local.stage = Stage::Merged;
        }
        if let Some(journal) = &self.journal {
            journal.release();
        }
        drop(local);
        *self.pin() = None;
    }

    /// The journal of a turn's fork.
    pub(super) fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    /// Records that a tool with an irrevocable effect began: its call, as JSON.
    pub(super) fn begin_tool(&self, call: &str) {
        self.local().begin_tool(&self.tape, call);
    }

    /// Forgets the record of a tool that has ended without an entry.
    pub(super) fn end_tool(&self, call: &str) {
        self.local().end_tool(call);
    }

    /// Entries that close interrupted calls.
    pub(super) fn interrupted_calls(&self) -> Result<Vec<Draft>> {
        self.local().interrupted_calls(&self.tape)
    }

    /// The parent, for reading its part of the tape or of a sidecar.
    fn behind(&self, tape: &str) -> Result<Arc<dyn Store>> {
        if self.journal.is_none() || tape != self.tape || self.local().stage != Stage::Open {
            return Ok(Arc::clone(&self.parent));
        }
        let mut pinned = self.pin();
        if pinned.is_none() {
            *pinned = self.parent.pinned(tape)?;
        }
        Ok(Arc::clone(pinned.as_ref().unwrap_or(&self.parent)))
    }

    fn pin(&self) -> MutexGuard<'_, Option<Arc<dyn Store>>> {
        self.pinned.lock()
    }

    /// Never held across an await.
    fn local(&self) -> MutexGuard<'_, ForkState> {
        self.local.lock()
    }

    /// The local state, if it still accepts writes.
    fn open(&self) -> Result<MutexGuard<'_, ForkState>> {
        let local = self.local();
        local.check_open(false)?;
        Ok(local)
    }

    /// Whether the fork has entries of its own for an archive of the tape.
    fn has_written(&self, tape: &str) -> bool {
        let all = tape == self.tape;
        self.local().tapes.iter().any(|(name, local)| (all || name == tape) && !local.entries.is_empty())
    }

    fn holds(&self, tape: &str) -> bool {
        tape.strip_prefix(&self.tape).is_some_and(|rest| rest.is_empty() || rest.starts_with(SIDECAR))
    }

    async fn write(&self, commit: Commit) -> Result<Outcome> {
        // Asked before locking. If two first writes race, the second one continues from the first.
        let mut last = Vec::with_capacity(commit.batches.len());
        for batch in &commit.batches {
            let bound = self.local().bound(&batch.tape);
            last.push(match bound {
                Some(base) => base,
                None => self.behind(&batch.tape)?.last_id(&batch.tape).await?,
            });
        }
        let first = {
            let mut local = self.open()?;
            let first = local.check(&self.tape, &commit, &last)?;
            if let Some(journal) = &self.journal {
                journal.record(&commit)?;
            }
            let batches = commit.batches.into_iter().zip(&first).zip(last);
            local.apply(&self.tape, batches.map(|((batch, first), last)| (batch, *first, last)));
            first
        };
        if let Some(journal) = &self.journal {
            journal.acknowledge().await?;
        }
        Ok(Outcome::Stored(first))
    }

    /// The newest own entries that `wanted` accepts, newest first, and the visible bound of the parent, read under one
    /// lock.
    fn own(&self, tape: &str, max: usize, wanted: impl Fn(&Entry) -> bool) -> (Vec<Entry>, Option<u64>) {
        let local = self.local();
        let entries = local.tapes.get(tape).map_or(&[][..], |local: &TapeState| &local.entries);
        let own = entries.iter().rev().filter(|entry| wanted(entry)).take(max).cloned().collect();
        (own, local.bound(tape))
    }
}

/// Reopens a fork whose merge did not complete.
struct Reopen<'a>(&'a Fork);

impl Drop for Reopen<'_> {
    fn drop(&mut self) {
        let mut local = self.0.local();
        if local.stage == Stage::Merging {
            local.stage = if self.0.journal.is_some() { Stage::Unsure } else { Stage::Open };
        }
    }
}

/// The smaller of the caller's bound and the fork's.
fn below(before: Option<u64>, bound: Option<u64>) -> Option<u64> {
    match (before, bound) {
        (before, None) => before,
        (None, Some(bound)) => Some(bound + 1),
        (Some(before), Some(bound)) => Some(before.min(bound + 1)),
    }
}
