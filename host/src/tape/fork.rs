//! A child tape, whose writes are merged or dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::draft::Draft;
use super::entry::Entry;
use super::error::{Error, Result};
use super::store::{Future, Store, next_id};

/// A store in which one tape is forked: writes to it stay here until [`merge`](Fork::merge), and reading it shows the
/// parent's entries with the fork's own behind them. Every other tape is the parent's. Dropping it discards the writes.
///
/// A fork is a store, so a fork of a fork is nothing special.
///
/// The first write fixes what of the parent is seen: entries that others append to it meanwhile appear after the merge.
/// So an id stands for one entry as long as the fork lives. The merge gives the entries their final ids.
pub struct Fork {
    parent: Arc<dyn Store>,
    tape: String,
    local: Mutex<Local>,
}

#[derive(Default)]
struct Local {
    entries: Vec<Entry>,
    /// The parent's last id when the first entry was written here.
    base: Option<u64>,
    /// Emptied here: the parent is not seen, and is emptied at the merge, with or without an archive.
    reset: Option<bool>,
    stage: Stage,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Stage {
    #[default]
    Open,
    Merging,
    Merged,
}

impl Local {
    /// What to ask of the parent: entries up to this id (none: all of them).
    fn bound(&self) -> Option<u64> {
        if self.reset.is_some() { Some(0) } else { self.base }
    }
}

impl Fork {
    /// A fork of `tape` in `parent`.
    pub fn new(parent: Arc<dyn Store>, tape: impl Into<String>) -> Self {
        Self { parent, tape: tape.into(), local: Mutex::default() }
    }

    /// Writes what was written here to the parent, as one append. After that the fork shows the parent as it is, and
    /// takes nothing more.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] the second time; else what the parent says, and then the fork stays as it was.
    pub async fn merge(&self) -> Result<()> {
        let (drafts, reset) = {
            let mut local = self.open()?;
            local.stage = Stage::Merging;
            let drafts: Vec<Draft> = local.entries.iter().cloned().map(Draft::from).collect();
            (drafts, local.reset)
        };
        // Also when the caller stops waiting: then nothing was written, and the merge may be tried again.
        let _reopen = Reopen(self);
        if let Some(archive) = reset {
            self.parent.reset(&self.tape, archive).await?;
            let mut local = self.local();
            local.reset = None;
            local.base = Some(0);
        }
        if !drafts.is_empty() {
            self.parent.append(&self.tape, drafts, None).await?;
        }
        *self.local() = Local { stage: Stage::Merged, ..Local::default() };
        Ok(())
    }

    /// Never held while something is awaited.
    fn local(&self) -> MutexGuard<'_, Local> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The local part, when it still takes something.
    fn open(&self) -> Result<MutexGuard<'_, Local>> {
        let local = self.local();
        match local.stage {
            Stage::Open => Ok(local),
            Stage::Merging => Err(Error::invalid("this fork is being merged")),
            Stage::Merged => Err(Error::invalid("this fork was merged before")),
        }
    }

    async fn write(&self, drafts: Vec<Draft>, expect_last: Option<u64>) -> Result<u64> {
        // Asked before the lock is taken. When two first writes meet here, the one that comes second counts on.
        let bound = self.local().bound();
        let parent_last = match bound {
            Some(base) => base,
            None => self.parent.last_id(&self.tape).await?,
        };
        let mut local = self.open()?;
        let base = local.base.unwrap_or(if local.reset.is_some() { 0 } else { parent_last });
        let last = local.entries.last().map_or(base, |entry| entry.id);
        if expect_last.is_some_and(|expected| expected != last) {
            return Err(Error::Conflict { last });
        }
        let first = next_id(last, drafts.len())?;
        if !drafts.is_empty() {
            local.base = Some(base);
            local.entries.extend((first..).zip(drafts).map(|(id, draft)| draft.numbered(id)));
        }
        Ok(first)
    }

    /// The newest of the fork's own entries that `wanted` accepts, newest first, and how much of the parent is seen
    /// behind them: both of one moment.
    fn own(&self, max: usize, wanted: impl Fn(&Entry) -> bool) -> (Vec<Entry>, Option<u64>) {
        let local = self.local();
        let newest_first = local.entries.iter().rev();
        let own = newest_first.filter(|entry| wanted(entry)).take(max).cloned().collect();
        (own, local.bound())
    }
}

/// Opens a fork again whose merge did not come to its end.
struct Reopen<'a>(&'a Fork);

impl Drop for Reopen<'_> {
    fn drop(&mut self) {
        let mut local = self.0.local();
        if local.stage == Stage::Merging {
            local.stage = Stage::Open;
        }
    }
}

/// The smaller of what the caller wants and what the fork shows of its parent.
fn below(before: Option<u64>, bound: Option<u64>) -> Option<u64> {
    match (before, bound) {
        (before, None) => before,
        (None, Some(bound)) => Some(bound + 1),
        (Some(before), Some(bound)) => Some(before.min(bound + 1)),
    }
}

impl Store for Fork {
    fn append<'a>(&'a self, tape: &'a str, drafts: Vec<Draft>, expect_last: Option<u64>) -> Future<'a, u64> {
        if tape != self.tape {
            return self.parent.append(tape, drafts, expect_last);
        }
        Box::pin(self.write(drafts, expect_last))
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        if tape != self.tape {
            return self.parent.last_id(tape);
        }
        Box::pin(async move {
            let (own, bound) = self.own(1, |_| true);
            match (own.first(), bound) {
                (Some(last), _) => Ok(last.id),
                (None, Some(base)) => Ok(base),
                (None, None) => self.parent.last_id(tape).await,
            }
        })
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        if tape != self.tape {
            return self.parent.read(tape, after, max);
        }
        Box::pin(async move {
            let bound = self.local().bound();
            let mut found = Vec::new();
            if bound.is_none_or(|bound| after < bound) {
                found = self.parent.read(tape, after, max).await?;
                found.retain(|entry| bound.is_none_or(|bound| entry.id <= bound));
            }
            if bound.is_some() {
                let left = max.saturating_sub(found.len());
                let local = self.local();
                let own = local.entries.iter().filter(|entry| entry.id > after);
                found.extend(own.take(left).cloned());
            }
            Ok(found)
        })
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        if tape != self.tape {
            return self.parent.tail(tape, before, max);
        }
        Box::pin(async move {
            let (mut found, bound) = self.own(max, |entry| before.is_none_or(|before| entry.id < before));
            found.reverse();
            let left = max.saturating_sub(found.len());
            if left > 0 && bound != Some(0) {
                let mut older = self.parent.tail(tape, below(before, bound), left).await?;
                older.append(&mut found);
                found = older;
            }
            Ok(found)
        })
    }

    fn last_anchor<'a>(
        &'a self,
        tape: &'a str,
        name: Option<&'a str>,
        before: Option<u64>,
        zones: bool,
    ) -> Future<'a, Option<Entry>> {
        if tape != self.tape {
            return self.parent.last_anchor(tape, name, before, zones);
        }
        Box::pin(async move {
            let in_reach = |entry: &Entry| before.is_none_or(|before| entry.id < before);
            let (mut own, bound) = self.own(1, |entry| in_reach(entry) && entry.answers(name, zones));
            match own.pop() {
                Some(own) => Ok(Some(own)),
                None if bound == Some(0) => Ok(None),
                None => self.parent.last_anchor(tape, name, below(before, bound), zones).await,
            }
        })
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.parent.list(after, max)
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        if tape != self.tape {
            return self.parent.reset(tape, archive);
        }
        Box::pin(async move {
            let mut local = self.open()?;
            // What is thrown away without an archive once stays so; an archive that was asked for once is made.
            let archive = archive || local.reset == Some(true);
            *local = Local { reset: Some(archive), ..Local::default() };
            Ok(None)
        })
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.parent.check_writable(tape)
    }
}
