//! Tapes in memory, for ephemeral sessions, tests and embedders.

use super::by_reading;
use super::query::Query;
use super::search::{Hit, Search};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap};

use super::entry::Entry;
use super::erase::{Erasure, Verdict};
use super::error::{Error, Result};
use super::name::{SIDECAR, check_tape_name, is_listed};
use super::store::{Commit, Future, Outcome, Store};
use super::transaction::{self, ErasingTransaction, StoreTransaction};

/// Keeps tapes in memory.
///
/// An archive is kept like a tape under its name, but is not listed and accepts no writes.
#[derive(Default)]
pub struct MemoryStore {
    tapes: Mutex<Tapes>,
}

#[derive(Default)]
struct Tapes {
    tapes: BTreeMap<String, Kept>,
    /// The last key of a tape; survives the tape's reset.
    keys: HashMap<String, String>,
}

#[derive(Default)]
struct Kept {
    archive: bool,
    /// In order of ids.
    entries: Vec<Entry>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Never held across an await.
    fn tapes(&self) -> MutexGuard<'_, Tapes> {
        self.tapes.lock()
    }

    /// Applies `look` to a tape's entries.
    fn look<T>(&self, tape: &str, look: impl FnOnce(&[Entry]) -> T) -> Result<T> {
        let tapes = self.tapes();
        match tapes.tapes.get(tape) {
            Some(kept) => Ok(look(&kept.entries)),
            None => check_tape_name(tape).map(|()| look(&[])),
        }
    }
}

impl Store for MemoryStore {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move { transaction::commit(&mut *self.tapes(), commit) })
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            transaction::archive_name(&mut *self.tapes(), tape)
        })
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let mut tapes = self.tapes();
            let archive = if archive { transaction::archive_name(&mut *tapes, tape)? } else { None };
            transaction::commit(&mut *tapes, Commit::reset(tape, archive.clone()))?;
            Ok(archive)
        })
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let mut tapes = self.tapes();
            match tapes.last_id(tape)? {
                last if last == after => {
                    let last = entries.last().map_or(after, |last| last.id);
                    if !entries.is_empty() {
                        tapes.add(tape, false, entries)?;
                    }
                    Ok(last)
                }
                last => Err(Error::Conflict { last }),
            }
        })
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        Box::pin(async move { ErasingTransaction::erase(&mut *self.tapes(), tape, &erasure) })
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            check_tape_name(tape)?;
            self.tapes().sidecars(tape)
        })
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        Box::pin(async move { self.look(tape, |entries| entries.last().map_or(0, |last| last.id)) })
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            self.look(tape, |entries| {
                let start = entries.partition_point(|entry| entry.id <= after);
                entries.iter().skip(start).take(max).cloned().collect()
            })
        })
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            self.look(tape, |entries| {
                let end = entries.partition_point(|entry| before.is_none_or(|before| entry.id < before));
                let start = end.saturating_sub(max);
                entries.iter().skip(start).take(end - start).cloned().collect()
            })
        })
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let tapes = self.tapes();
            let names = tapes.tapes.iter().filter(|(_, kept)| kept.archive).map(|(name, _)| name);
            let behind = names.filter(|name| after.is_none_or(|after| name.as_str() > after));
            Ok(behind.take(max).cloned().collect())
        })
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let tapes = self.tapes();
            let names = tapes.tapes.iter().filter(|(name, kept)| !kept.archive && is_listed(name));
            let behind = names.map(|(name, _)| name).filter(|name| after.is_none_or(|after| name.as_str() > after));
            Ok(behind.take(max).cloned().collect())
        })
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(async move { check_tape_name(tape) })
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        by_reading::section(self, tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        by_reading::search(self, tape, search, before)
    }
}

impl StoreTransaction for Tapes {
    fn holds(&mut self, name: &str) -> Result<bool> {
        Ok(self.tapes.contains_key(name))
    }

    fn is_archive(&mut self, name: &str) -> Result<bool> {
        Ok(self.tapes.get(name).is_some_and(|kept| kept.archive))
    }

    fn last_id(&mut self, name: &str) -> Result<u64> {
        Ok(self.tapes.get(name).and_then(|kept| kept.entries.last()).map_or(0, |last| last.id))
    }

    fn sidecars(&mut self, tape: &str) -> Result<Vec<String>> {
        let prefix = format!("{tape}{SIDECAR}");
        let beside = self.tapes.iter().filter(|(name, kept)| name.starts_with(&prefix) && !kept.archive);
        Ok(beside.map(|(name, _)| name.clone()).collect())
    }

    fn archive(&mut self, tape: &str, archive: &str) -> Result<()> {
        if let Some(kept) = self.tapes.remove(tape) {
            self.tapes.insert(archive.to_owned(), Kept { archive: true, ..kept });
        }
        Ok(())
    }

    fn remove(&mut self, tape: &str) -> Result<()> {
        self.tapes.remove(tape);
        Ok(())
    }

    fn add(&mut self, name: &str, archive: bool, entries: Vec<Entry>) -> Result<()> {
        let kept = self.tapes.entry(name.to_owned()).or_insert_with(|| Kept { archive, ..Kept::default() });
        kept.entries.extend(entries);
        Ok(())
    }

    fn merged(&mut self, tape: &str) -> Result<Option<String>> {
        Ok(self.keys.get(tape).cloned())
    }

    fn remember(&mut self, tape: &str, key: &str) -> Result<()> {
        self.keys.insert(tape.to_owned(), key.to_owned());
        Ok(())
    }
}

impl ErasingTransaction for Tapes {
    fn erase(&mut self, tape: &str, erasure: &Erasure) -> Result<u64> {
        let Some(kept) = self.tapes.get_mut(tape) else { return Ok(0) };
        let next = kept.entries.last().map_or(1, |last| last.id + 1);
        let mut erased = 0;
        let left = std::mem::take(&mut kept.entries).into_iter().filter_map(|entry| match erasure.verdict(&entry) {
            Verdict::Stays => Some(entry),
            Verdict::Goes => {
                erased += 1;
                None
            }
            Verdict::Blanked(blank) => {
                erased += 1;
                Some(blank)
            }
        });
        kept.entries = left.collect();
        if erased > 0 {
            kept.entries.extend(erasure.receipt().map(|receipt| receipt.clone().numbered(next)));
        }
        Ok(erased)
    }
}
