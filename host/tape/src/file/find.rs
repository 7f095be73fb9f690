//! Lookups in a tape: by reading near its end, and further back by the index or in one pass.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::super::entry::Entry;
use super::super::error::Result;
use super::super::lookup::Lookup;
use super::super::name::check_tape_name;
use super::super::search::{Collector, Hit, Search};
use super::super::section;
use super::super::summary::{EntryOffset, Newest};
use super::directory::{Directory, failed};
use super::end::{End, Tail};
use super::index::Index;
use super::index_cache::MAX_INLINE_READ;
use super::numbered::{NumberedFile, NumberedLine, irregular};
use super::sweep::Swept;

/// Bytes at the end that are scanned before the index is used.
const NEAR: u64 = 64 * 1024;

impl Directory {
    /// The newest entry before `before` that matches `lookup`: by the index if it is in memory, else by scanning the
    /// end first.
    pub(super) fn newest(&self, tape: &str, lookup: &Lookup, before: Option<u64>) -> Result<Option<Entry>> {
        check_tape_name(tape)?;
        let find = || match self.seen(tape)? {
            Some((file, end)) => {
                self.numbered(tape, &file, end, |of| {
                    let last_id = self.end(tape, &file, of.end)?.last_id;
                    let found = self.newest_of(tape, &file, of, (lookup, before))?;
                    // Earlier entries have lower ids, if the lines number the entries.
                    match &found {
                        Some(entry) if of.points.is_none() && entry.id > last_id => Err(irregular()),
                        _ => Ok(found),
                    }
                })
            }
            None => Ok(None),
        };
        find().map_err(failed("read", tape))
    }

    fn newest_of(
        &self,
        tape: &str,
        file: &Arc<File>,
        of: &NumberedFile<'_>,
        (lookup, before): (&Lookup, Option<u64>),
    ) -> io::Result<Option<Entry>> {
        // A bound after the end is no bound.
        let End { last_id, tail, .. } = self.end(tape, file, of.end)?;
        let before = before.filter(|before| *before <= last_id);
        // A saved index may be wrong, also about whether the lines number the entries.
        let fits = |index: &Index| of.points.is_none() || index.has_irregular_ids();
        let question = |index: &Index| match fits(index) {
            true => index.newest(file, lookup, before),
            false => Ok(Newest::Unknown),
        };
        let asks = || match self.ask(tape, file, of.end, question)? {
            Newest::Known(entry) => Ok::<_, io::Error>(Some(Some(entry))),
            Newest::Nothing => Ok(Some(None)),
            Newest::Unknown => Ok(None),
        };
        // An entry without its newline is not indexed.
        let is_indexed = of.points.is_some() || self.is_indexed(tape, file, of.end);
        let mut asked = tail == Tail::Nothing && is_indexed && self.indexes.has(tape);
        if asked && let Some(found) = asks()? {
            return Ok(found);
        }
        let from = of.before(before, last_id)?;
        let mut lines = of.backward(from)?;
        let prefilter = lookup.prefilter();
        let learn = |asked: bool, place: Option<EntryOffset>| {
            if asked && before.is_none() {
                self.learn(tape, lookup, place);
            }
        };
        while let Some(NumberedLine { start, entry }) = lines.next(&|line| prefilter.may_be(line))? {
            if let Some(entry) = entry
                && before.is_none_or(|before| entry.id < before)
                && lookup.matches(&entry)
            {
                learn(asked, Some(EntryOffset { id: entry.id, offset: start }));
                return Ok(Some(entry));
            }
            let is_long_read = from.saturating_sub(start) > NEAR;
            if !asked && is_long_read && is_indexed {
                asked = true;
                if let Some(found) = asks()? {
                    return Ok(found);
                }
            } else if is_long_read && !is_indexed && before.is_none() {
                match self.swept(tape, file, lookup) {
                    Some((until, found)) if until >= start => return Ok(found),
                    // Little was written since then, so it is scanned here.
                    Some((until, _)) if start - until <= MAX_INLINE_READ => {}
                    _ => return self.sweep(tape, file, start, lookup),
                }
            }
        }
        learn(asked, None);
        Ok(None)
    }

    /// The newest match in the first `end` bytes of a long tape without an index. The same pass finds the other names
    /// that a turn looks up.
    fn sweep(&self, tape: &str, file: &Arc<File>, end: u64, lookup: &Lookup) -> io::Result<Option<Entry>> {
        let _one_at_a_time = self.indexes.sweeping();
        // Another thread may have swept the same bytes meanwhile.
        if let Some((until, found)) = self.swept(tape, file, lookup)
            && until >= end
        {
            return Ok(found);
        }
        tracing::debug!("reads the whole tape `{tape}`, which has no index, for {lookup:?}");
        let swept = Swept::sweep(file, end, lookup)?;
        let found = swept.knows(file, lookup).cloned().flatten();
        self.indexes.swept().put(tape.to_owned(), swept);
        Ok(found)
    }

    /// Sweeps a tape without an index before its first lookup, so that the lookup finds the results.
    pub(super) fn sweep_ahead(&self, tape: &str) -> io::Result<()> {
        let Some((file, end)) = self.seen(tape)? else { return Ok(()) };
        if self.is_indexed(tape, &file, end) || self.end(tape, &file, end)?.tail != Tail::Nothing {
            return Ok(());
        }
        self.sweep(tape, &file, end, &Lookup::Phase).map(|_| ())
    }

    /// The result of an earlier pass, and its length.
    fn swept(&self, tape: &str, file: &Arc<File>, lookup: &Lookup) -> Option<(u64, Option<Entry>)> {
        let mut swept = self.indexes.swept();
        let swept = swept.get(tape)?;
        Some((swept.end, swept.knows(file, lookup)?.clone()))
    }

    /// The current version of a section, by the index; `None` if the index cannot tell.
    pub(super) fn section(&self, tape: &str, name: &str, before: Option<u64>) -> Result<Option<Vec<Entry>>> {
        check_tape_name(tape)?;
        let find = || {
            let Some((file, end)) = self.seen(tape)? else {
                return Ok(Some((Vec::new(), 0)));
            };
            if !self.is_indexed(tape, &file, end) {
                return Ok(None);
            }
            let place = match self.ask(tape, &file, end, |index| Ok(index.whole(&file, end)?.section(name)))? {
                Newest::Known(place) if before.is_none_or(|before| place.seal.id < before) => place,
                Newest::Nothing => return Ok(Some((Vec::new(), 0))),
                _ => return Ok(None),
            };
            let found = self.numbered(tape, &file, end, |of| {
                let mut entries = of.from(place.open.offset)?;
                let mut found: Vec<Entry> = Vec::new();
                while found.len() <= section::longest()
                    && found.last().is_none_or(|last| last.id < place.seal.id)
                    && let Some((_, entry)) = entries.next()?
                {
                    found.push(entry);
                }
                Ok(found)
            })?;
            // A saved index may be wrong.
            let mark = |entry: Option<&Entry>| {
                entry.and_then(section::SectionAnchor::parse).map(|mark| (mark.section, mark.version))
            };
            let expected = Some((name.to_owned(), place.version));
            let fits = found.len() > section::longest() || mark(found.last()) == expected;
            Ok((fits && mark(found.first()) == expected).then_some((found, place.seal.id)))
        };
        let found = find().map_err(failed("read", tape))?;
        match found {
            Some((entries, _)) if entries.is_empty() => Ok(Some(entries)),
            Some((entries, seal)) => section::check(name, &entries, seal).map(|()| Some(entries)),
            None => Ok(None),
        }
    }

    pub(super) fn search(
        &self,
        tape: &str,
        search: &Search,
        before: Option<u64>,
        stop: &AtomicBool,
    ) -> Result<Vec<Hit>> {
        check_tape_name(tape)?;
        // Errors of the search are reported before the tape is read.
        Collector::new(search)?;
        let look = || match self.seen(tape)? {
            Some((file, end)) => self.numbered(tape, &file, end, |of| {
                let found = Collector::new(search).map_err(io::Error::other)?;
                let end = self.before(tape, &file, of, before)?;
                super::search::search(of, end, found, stop)
            }),
            None => Ok(Vec::new()),
        };
        look().map_err(failed("search", tape))
    }
}
