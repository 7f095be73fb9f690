//! A fork as a store: what is read is the parent's, with the fork's own entries behind it.

use super::super::by_reading;
use super::super::condition::{Candidates, Condition};
use super::super::entry::Entry;
use super::super::info::Info;
use super::super::lookup::Lookup;
use super::super::name::archive_name;
use super::super::query::Query;
use super::super::search::{Collector, Hit, Search};
use super::super::section;
use super::super::store::{Commit, Future, Outcome, Store, info_by_reading};
use super::{Fork, below, find};

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

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.parent.archives(after, max)
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
