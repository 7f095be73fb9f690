//! Forks: child tapes whose writes are merged or dropped.

mod find;
mod state;

use super::by_reading;
use super::query::Query;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

use super::condition::{Candidates, Condition};
use super::draft::Draft;
use super::entry::Entry;
use super::error::{Error, Result};
use super::info::Info;
use super::journal::Journal;
use super::lookup::Lookup;
use super::name::{SIDECAR, archive_name};
use super::search::{Collector, Hit, Search};
use super::section;
use super::store::{Batch, Commit, Future, Outcome, Store, info_by_reading};
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
            journal.settle().await?;
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

impl Store for Fork {
    /// The key of a commit is ignored: a fork lives as long as its writer.
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move {
            match commit.tape()? {
                None => Ok(Outcome::Stored(Vec::new())),
                Some(_) if commit.batches.iter().all(|batch| self.holds(&batch.tape)) => self.write(commit).await,
                Some(_) => self.parent.commit(commit).await,
            }
        })
    }

    fn invalidate(&self) {
        *self.pin() = None;
        self.parent.invalidate();
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            if !self.holds(tape) {
                return self.parent.archive_name(tape).await;
            }
            if self.local().is_reset(tape) {
                return Ok(None);
            }
            let name = self.parent.archive_name(tape).await?;
            // The parent has no such tape yet, but the local entries must be archived.
            Ok(name.or_else(|| self.has_written(tape).then(|| archive_name(tape))))
        })
    }

    fn longest_entry(&self) -> usize {
        self.parent.longest_entry()
    }

    /// The parent's tape may be written before the merge, so the archive is also made if it is empty now.
    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        if !self.holds(tape) {
            return self.parent.reset(tape, archive);
        }
        Box::pin(async move {
            let name = if archive { self.archive_name(tape).await? } else { None };
            let archive = archive.then(|| name.clone().unwrap_or_else(|| archive_name(tape)));
            self.commit(Commit::reset(tape, archive)).await?;
            Ok(name)
        })
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let hidden = self.holds(tape) && self.local().is_reset(tape);
            let mut names = if hidden { Vec::new() } else { self.parent.sidecars(tape).await? };
            if self.holds(tape) {
                let local = self.local();
                let written = local.tapes.iter().filter(|(_, local)| !local.entries.is_empty());
                names.extend(written.map(|(name, _)| name).filter(|name| name.as_str() != tape).cloned());
                names.sort_unstable();
                names.dedup();
            }
            Ok(names)
        })
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        if !self.holds(tape) {
            return self.parent.last_id(tape);
        }
        Box::pin(async move {
            let (own, bound) = self.own(tape, 1, |_| true);
            match (own.first(), bound) {
                (Some(last), _) => Ok(last.id),
                (None, Some(base)) => Ok(base),
                (None, None) => self.behind(tape)?.last_id(tape).await,
            }
        })
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        if !self.holds(tape) {
            return self.parent.read(tape, after, max);
        }
        Box::pin(async move {
            let bound = self.local().bound(tape);
            let mut found = Vec::new();
            if bound.is_none_or(|bound| after < bound) {
                found = self.behind(tape)?.read(tape, after, max).await?;
                found.retain(|entry| bound.is_none_or(|bound| entry.id <= bound));
            }
            if bound.is_some() {
                let left = max.saturating_sub(found.len());
                let local = self.local();
                let own = local.tapes.get(tape).map_or(&[][..], |local| &local.entries);
                let wanted = own.get(own.partition_point(|entry| entry.id <= after)..).unwrap_or_default();
                found.extend_from_slice(wanted.get(..left).unwrap_or(wanted));
            }
            Ok(found)
        })
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        if !self.holds(tape) {
            return self.parent.tail(tape, before, max);
        }
        Box::pin(async move {
            let (mut found, bound) = self.own(tape, max, |entry| before.is_none_or(|before| entry.id < before));
            found.reverse();
            let left = max.saturating_sub(found.len());
            if left > 0 && bound != Some(0) {
                let mut older = self.behind(tape)?.tail(tape, below(before, bound), left).await?;
                older.append(&mut found);
                found = older;
            }
            Ok(found)
        })
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        if !self.holds(tape) {
            return self.parent.newest(tape, lookup, before);
        }
        Box::pin(async move {
            let in_reach = |entry: &Entry| before.is_none_or(|before| entry.id < before);
            let (mut own, bound) = self.own(tape, 1, |entry| in_reach(entry) && lookup.matches(entry));
            match own.pop() {
                Some(own) => Ok(Some(own)),
                None if bound == Some(0) => Ok(None),
                None => self.behind(tape)?.newest(tape, lookup, below(before, bound)).await,
            }
        })
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        if !self.holds(tape) {
            return self.parent.section(tape, name, before);
        }
        Box::pin(async move {
            let (own, bound) = {
                let local = self.local();
                let entries = local.tapes.get(tape).map_or(&[][..], |local| &local.entries);
                let in_reach = entries.iter().filter(|entry| before.is_none_or(|before| entry.id < before));
                (section::among(in_reach, name), local.bound(tape))
            };
            if bound == Some(0) {
                return Ok(own.map_or_else(Vec::new, |(_, entries)| entries));
            }
            let theirs = self.behind(tape)?.section(tape, name, below(before, bound)).await?;
            let version = theirs.last().and_then(section::SectionAnchor::parse).map(|mark| mark.version);
            Ok(match own {
                Some((own, entries)) if version.is_none_or(|theirs| theirs <= own) => entries,
                _ => theirs,
            })
        })
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        if !self.holds(tape) {
            return self.parent.search(tape, search, before);
        }
        Box::pin(async move {
            let mut found = Collector::new(search)?;
            let (own, bound) = self.own(tape, usize::MAX, |entry| before.is_none_or(|before| entry.id < before));
            let full = own.into_iter().any(|entry| found.offer(entry).is_break());
            if !full && bound != Some(0) {
                found.adopt(self.behind(tape)?.search(tape, search, below(before, bound)).await?);
            }
            Ok(found.finish())
        })
    }

    /// Its own entries, unfiltered, and the parent's candidates.
    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        if !self.holds(tape) {
            return self.parent.find(tape, condition, max);
        }
        Box::pin(find::find(self, tape, condition, max))
    }

    /// The parent's statistics are used only if the fork shows all of it.
    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        if !self.holds(tape) {
            return self.parent.info(tape);
        }
        Box::pin(async move {
            let behind = self.behind(tape)?;
            let bound = self.local().bound(tape);
            let mut info = match bound {
                Some(0) => Info::new(tape),
                Some(bound) if behind.last_id(tape).await? != bound => return info_by_reading(self, tape).await,
                _ => behind.info(tape).await?,
            };
            if let Some(local) = self.local().tapes.get_mut(tape) {
                info.add(local.counts());
            }
            Ok(info)
        })
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.parent.list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.parent.check_writable(tape)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }
}
