//! The copy of a tape and its sidecars to a new tape of the same store, for a session that goes on from there.

use std::collections::VecDeque;
use std::sync::Arc;

use super::draft::{Draft, bootstrap};
use super::entry::{Entry, SESSION_MARK};
use super::error::{Error, Result};
use super::forgotten;
use super::interruption::{self, CALLS, RESULTS};
use super::journal::{Alone, Journals};
use super::lookup::Lookup;
use super::name::{SIDECAR, check_tape_name};
use super::note::Note;
use super::session::SessionMark;
use super::store::Store;

/// Entries per step: a message with media has megabytes.
const PAGE: usize = 64;

/// The event that states that text from outside is in the conversation.
const TAINTED: &str = "turn.tainted";

/// A copy that is being made: [`TapeCopy::step`] copies a page. Entries keep their ids and dates, where the store can write
/// ids. Until [`TapeCopy::finish`] no turn of the new tape begins.
///
/// The sidecars come first, then the tape: a copy that was interrupted has no entry of the tape, or the first ones.
pub struct TapeCopy {
    /// Read from.
    source: Arc<dyn Store>,
    /// The lease of the new tape.
    lease: Alone,
    /// The name of the new tape.
    to: String,
    /// The last entry to copy; `None`: all.
    end: Option<Entry>,
    /// Of the new tape's session.
    mark: Option<SessionMark>,
    parts: VecDeque<Part>,
    /// Entries of the tape itself.
    copied: u64,
}

/// The tape or a sidecar.
struct Part {
    from: String,
    to: String,
    /// The last id that was read, and the last one that was written.
    read: u64,
    written: u64,
    rule: Rule,
}

/// Which entries of a part are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    All,
    /// Up to the date of the last entry: a sidecar has its own ids.
    ByDate,
    /// Up to the last entry.
    ById,
}

/// What a step has copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedPage {
    /// Entries.
    pub entries: u64,
    /// Bytes of their payloads and metas.
    pub bytes: usize,
}

impl TapeCopy {
    /// Begins a copy of the tape `from` to the new tape `to`, up to the entry `through`: 0 copies none, `None` all. `mark`
    /// identifies the new tape's session. `None`: there is a tape `to` already.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such entry, [`Error::Busy`] if a turn of `to` does not end in time, and errors of
    /// the store.
    pub(super) async fn begin(
        source: &Arc<dyn Store>,
        journals: &Journals,
        [from, to]: [&str; 2],
        through: Option<u64>,
        mark: Option<SessionMark>,
    ) -> Result<Option<Self>> {
        check_tape_name(from)?;
        check_tape_name(to)?;
        let end = match through {
            None | Some(0) => None,
            Some(id) => Some(entry_at(&**source, from, id).await?),
        };
        let lease = journals.exclusively(source, to).await?;
        if source.last_id(to).await? > 0 || !source.sidecars(to).await?.is_empty() {
            lease.release().await;
            return Ok(None);
        }
        source.note(to, Note::Fork { from: from.to_owned(), through }).await?;
        let part = |suffix: &str, rule| Part {
            from: format!("{from}{suffix}"),
            to: format!("{to}{suffix}"),
            read: 0,
            written: 0,
            rule,
        };
        let mut parts = VecDeque::new();
        if through != Some(0) {
            for sidecar in source.sidecars(from).await? {
                let Some(suffix) = sidecar.strip_prefix(from) else { continue };
                // Entries that were forgotten since are forgotten in the copy too.
                let is_forgotten = suffix.strip_prefix(SIDECAR) == Some(forgotten::SIDECAR);
                let rule = if end.is_none() || is_forgotten { Rule::All } else { Rule::ByDate };
                parts.push_back(part(suffix, rule));
            }
            parts.push_back(part("", if end.is_none() { Rule::All } else { Rule::ById }));
        }
        Ok(Some(Self { source: Arc::clone(source), lease, to: to.to_owned(), end, mark, parts, copied: 0 }))
    }

    /// Copies the next page; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the tape was reset meanwhile, and errors of the store. The copy is incomplete then:
    /// [`TapeCopy::discard`] removes it.
    pub async fn step(&mut self) -> Result<Option<CopiedPage>> {
        let Some(mut part) = self.parts.pop_front() else { return Ok(None) };
        let mut page = self.source.read(&part.from, part.read, PAGE).await?;
        let is_tape = part.to == self.to;
        let is_whole = part.rule == Rule::All && page.is_empty();
        let mut is_end = page.is_empty();
        if let (Some(last), Some(end)) = (page.last(), &self.end) {
            part.read = last.id;
            let read = page.len();
            page.retain(|entry| match part.rule {
                Rule::All => true,
                Rule::ByDate => entry.date <= end.date,
                Rule::ById => entry.id <= end.id,
            });
            is_end = page.len() < read || (part.rule == Rule::ById && page.last() == Some(end));
        } else if let Some(last) = page.last() {
            part.read = last.id;
        }
        if is_tape && is_end && !is_whole && page.last() != self.end.as_ref() {
            return Err(Error::invalid(format!("tape `{}` was reset while it was copied", part.from)));
        }
        let copied = CopiedPage {
            entries: page.len() as u64,
            bytes: page.iter().map(|entry| entry.payload.len() + entry.meta.len()).sum(),
        };
        if is_tape && part.written == 0 {
            self.stamp(&mut page)?;
        }
        if !page.is_empty() {
            // Another process may write to the tape without its lease.
            part.written = self.source.append_numbered(&part.to, part.written, page).await?;
        }
        if is_tape {
            self.copied += copied.entries;
            if is_end {
                self.close(&part).await?;
            }
        }
        if !is_end {
            self.parts.push_front(part);
        }
        Ok(Some(copied))
    }

    /// Names the session of the new tape in its first entry, in place of the old one.
    fn stamp(&self, page: &mut [Entry]) -> Result<()> {
        let (Some(first), Some(mark)) = (page.first_mut(), &self.mark) else { return Ok(()) };
        let id = first.id;
        *first = Draft::from(first.clone()).with_meta(SESSION_MARK, &mark.json())?.numbered(id);
        Ok(())
    }

    /// Appends what the last entry needs behind it: the results of calls, and the taint of an anchor.
    async fn close(&self, part: &Part) -> Result<()> {
        let Some(end) = &self.end else { return Ok(()) };
        let mut drafts = self.missing_results(&part.to).await?;
        // An anchor of a tainted turn has its taint behind it and its event.
        if end.begins_phase() || end.event_name().as_deref() == Some("handoff") {
            let behind = self.source.read(&part.from, end.id, 2).await?;
            let is_taint = |entry: &Entry| entry.event_name().as_deref() == Some(TAINTED);
            drafts.extend(behind.into_iter().find(is_taint).map(Draft::from));
        }
        if !drafts.is_empty() {
            self.source.append(&part.to, drafts, Some(part.written)).await?;
        }
        Ok(())
    }

    /// Results for calls of the last phase without them: no model takes calls without results.
    async fn missing_results(&self, to: &str) -> Result<Vec<Draft>> {
        let newest = async |lookup: Lookup| self.source.newest(to, &lookup, None).await;
        let Some(call) = newest(Lookup::Kind(CALLS.to_owned())).await? else { return Ok(Vec::new()) };
        for later in [Lookup::Kind(RESULTS.to_owned()), Lookup::Phase] {
            if newest(later).await?.is_some_and(|later| later.id > call.id) {
                return Ok(Vec::new());
            }
        }
        interruption::close(std::iter::once((&*call.kind, &*call.payload)), &[])
    }

    /// Ends the copy, and lets turns of the new tape begin. A tape of a session that nothing was copied to begins anew.
    /// Returns the number of entries that were copied to the tape itself.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn finish(self) -> Result<u64> {
        let mut drafts = bootstrap();
        if let (Some(mark), 0) = (&self.mark, self.copied) {
            mark.stamp(&mut drafts)?;
            self.source.append(&self.to, drafts.into(), Some(0)).await?;
        }
        self.lease.release().await;
        Ok(self.copied)
    }

    /// Removes an incomplete copy: it could be taken for a complete one.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn discard(self) -> Result<()> {
        let removed = self.source.reset(&self.to, false).await;
        self.lease.release().await;
        removed.map(drop)
    }
}

/// The entry of that id.
async fn entry_at(store: &dyn Store, tape: &str, id: u64) -> Result<Entry> {
    let found = store.read(tape, id.saturating_sub(1), 1).await?.into_iter().find(|entry| entry.id == id);
    match found {
        Some(entry) => Ok(entry),
        None => {
            let last = store.last_id(tape).await?;
            Err(Error::NotFound(format!("there is no entry {id} on tape `{tape}`, whose last one is {last}")))
        }
    }
}
