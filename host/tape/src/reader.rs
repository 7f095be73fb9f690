//! Reading what a condition may want: as the store finds it, or else one page after another.

use super::condition::{Candidates, Condition};
use super::entry::Entry;
use super::error::Result;
use super::prefilter::Prefilter;
use super::store::Store;

/// How many entries are read in one step, however many are wanted.
const PAGE: usize = 256;

/// The least that a store is asked to find at once: some of it may not fit.
const MIN_PAGE: usize = 16;

/// After so many answers in a row of which nothing was wanted, the tape is paged through from where the first of them began: a
/// store that never comes to an end is not believed, and pages have one.
const MAX_IDLE: usize = 256;

/// Entries and bytes read for one answer. The caller continues after them.
const MAX_SEEN: usize = 16_384;
const MAX_SEEN_BYTES: usize = 16 << 20;

/// Entries that are read at once for one: of a tape of long ones, little is held that is not looked at.
const STEP: usize = 64;

/// Bytes that are looked at before others have their turn.
const SLICE: usize = 1 << 20;

/// Bytes of entries in one answer, unless one alone is longer.
const MAX_ANSWER: usize = 4 << 20;

/// How far a tape was read.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Its bounds move.
    condition: Condition,
    /// Whether the store is asked to find entries, as far as is known.
    finds: bool,
    /// Entries that are read in one step.
    page: usize,
    /// Answers in a row of which nothing was wanted, and the bounds in front of them.
    idle: usize,
    accepted: (u64, Option<u64>),
}

impl Reader {
    pub(super) fn new(condition: Condition) -> Self {
        let condition = condition.bounded();
        let accepted = (condition.after, condition.before);
        Self { finds: !condition.is_everything(), condition, page: PAGE, idle: 0, accepted }
    }

    /// Whether the store finds entries, once it was asked.
    pub(super) fn finds(&self) -> bool {
        self.finds
    }

    /// Between which ids something is left, both exclusive.
    pub(super) fn bounds(&self) -> (u64, Option<u64>) {
        (self.condition.after, self.condition.before)
    }

    /// Whether nothing is left between the bounds.
    pub(super) fn is_done(&self) -> bool {
        self.condition.before.is_some_and(|before| before <= self.condition.after.saturating_add(1))
    }

    /// The next entries between the bounds, in their order, and behind which id there may be more. `wanted`: how many
    /// would do.
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

    /// Nothing up to this entry is read again.
    pub(super) fn pass(&mut self, id: u64) {
        match self.condition.newest_first {
            true => self.condition.before = Some(id),
            false => self.condition.after = id,
        }
    }

    /// The entry that was just passed is wanted.
    pub(super) fn accept(&mut self) {
        self.idle = 0;
        self.accepted = self.bounds();
    }

    /// Goes on where a step ended. Whether there may be more.
    pub(super) fn go_on(&mut self, next: Option<u64>) -> bool {
        match next {
            Some(next) => self.pass(next),
            // The oldest entry stays the oldest; behind the newest others may follow.
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

/// Entries that a condition may want, at most `max`, as a store of this program finds them for another.
///
/// # Errors
///
/// What the store says, and [`Error::InvalidInput`](super::Error::InvalidInput) for a condition that is none.
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
            // It begins anew, one page after another.
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
