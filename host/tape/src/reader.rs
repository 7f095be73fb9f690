//! Reading of candidates: those that the store finds, or else page by page.

use super::condition::{Candidates, Condition};
use super::entry::Entry;
use super::error::Result;
use super::prefilter::Prefilter;
use super::store::Store;

/// Maximum entries per step, however many are wanted.
const PAGE: usize = 256;

/// Minimum entries that a store is asked for: some candidates may not match.
const MIN_PAGE: usize = 16;

/// After this many answers in a row without a match, the tape is paged from the first of them: paging terminates even
/// if a store's answers do not.
const MAX_IDLE: usize = 256;

/// Maximum entries and bytes read for one answer. The caller continues after them.
const MAX_SEEN: usize = 16_384;
const MAX_SEEN_BYTES: usize = 16 << 20;

/// Entries per read: bounds the memory for a tape of long entries.
const STEP: usize = 64;

/// Bytes that are examined before other tasks may run.
const SLICE: usize = 1 << 20;

/// Bytes of entries in one answer, unless one alone is longer.
const MAX_ANSWER: usize = 4 << 20;

/// The progress of a read.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Its bounds advance.
    condition: Condition,
    /// Whether the store supports `find`, as far as known.
    finds: bool,
    /// Entries per step.
    page: usize,
    /// Answers in a row without a match, and the bounds before them.
    idle: usize,
    accepted: (u64, Option<u64>),
}

impl Reader {
    pub(super) fn new(condition: Condition) -> Self {
        let condition = condition.bounded();
        let accepted = (condition.after, condition.before);
        Self { finds: !condition.is_everything(), condition, page: PAGE, idle: 0, accepted }
    }

    /// Whether the store supports `find`, once it was asked.
    pub(super) fn finds(&self) -> bool {
        self.finds
    }

    /// The remaining range of ids, exclusive.
    pub(super) fn bounds(&self) -> (u64, Option<u64>) {
        (self.condition.after, self.condition.before)
    }

    /// Whether the remaining range is empty.
    pub(super) fn is_done(&self) -> bool {
        self.condition.before.is_some_and(|before| before <= self.condition.after.saturating_add(1))
    }

    /// The next entries of the remaining range, in order, and the id after which there may be more. `wanted`: how many
    /// would suffice.
    pub(super) async fn step<S: Store + ?Sized>(&mut self, store: &S, tape: &str, wanted: usize) -> Result<Candidates> {
        let Condition { after, before, newest_first, .. } = self.condition;
        if self.finds {
            if let Some(found) = store.find(tape, &self.condition, wanted.clamp(MIN_PAGE, PAGE)).await? {
                return Ok(found);
            }
            self.finds = false;
        }
        let mut entries = match newest_first {
            true => store.tail(tape, before, self.page).await?,
            false => store.read(tape, after, self.page).await?,
        };
        if newest_first {
            entries.reverse();
        }
        let count = entries.len();
        entries.retain(|entry| entry.id > after && before.is_none_or(|before| entry.id < before));
        let next = entries.last().map(|last| last.id).filter(|_| entries.len() == count);
        Ok(Candidates { entries, next })
    }

    /// Excludes entries up to this one from the remaining range.
    pub(super) fn pass(&mut self, id: u64) {
        match self.condition.newest_first {
            true => self.condition.before = Some(id),
            false => self.condition.after = id,
        }
    }

    /// Reports a match for the entry just passed.
    pub(super) fn accept(&mut self) {
        self.idle = 0;
        self.accepted = self.bounds();
    }

    /// Continues after a step. Returns whether there may be more.
    pub(super) fn go_on(&mut self, next: Option<u64>) -> bool {
        match next {
            Some(next) => self.pass(next),
            // Nothing comes before the oldest entry; more may follow the newest.
            None if self.condition.newest_first => self.pass(0),
            None => {}
        }
        if next.is_none() || self.is_done() {
            return false;
        }
        self.idle += 1;
        if self.finds && self.idle >= MAX_IDLE {
            self.finds = false;
            (self.condition.after, self.condition.before) = self.accepted;
        }
        true
    }
}

/// At most `max` candidates of a condition, for implementing `find` over a store of this program.
///
/// # Errors
///
/// The store's error, and [`Error::InvalidInput`](super::Error::InvalidInput) for an invalid condition.
pub async fn find_candidates(store: &dyn Store, tape: &str, condition: &Condition, max: usize) -> Result<Candidates> {
    let mut filter = Prefilter::new(condition)?;
    let mut reader = Reader { page: STEP, ..Reader::new(filter.condition(condition)) };
    let mut found = Candidates::default();
    let (mut seen, mut seen_bytes, mut bytes) = (0, 0, 0);
    let size = |entry: &Entry| entry.payload.len() + entry.meta.len();
    while !reader.is_done() {
        let step = reader.step(store, tape, max).await?;
        for entry in step.entries {
            (seen, seen_bytes) = (seen + 1, seen_bytes + size(&entry));
            if seen_bytes % SLICE < size(&entry) {
                tokio::task::yield_now().await;
            }
            let is_candidate = filter.lets_pass(&entry);
            let is_full = found.entries.len() == max || bytes + size(&entry) > MAX_ANSWER;
            if is_candidate && is_full && !found.entries.is_empty() {
                return Ok(found);
            }
            reader.pass(entry.id);
            found.next = Some(entry.id);
            if is_candidate {
                reader.accept();
                bytes += size(&entry);
                found.entries.push(entry);
            }
        }
        let found_by_store = reader.finds();
        if !reader.go_on(step.next) {
            break;
        }
        if found_by_store && !reader.finds() {
            // Start again, page by page.
            continue;
        }
        found.next = step.next;
        if found.entries.len() == max || seen >= MAX_SEEN || seen_bytes >= MAX_SEEN_BYTES {
            return Ok(found);
        }
        tokio::task::yield_now().await;
    }
    Ok(Candidates { next: None, ..found })
}
