//! Hides forgotten entries of a tape.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::entry::Entry;
use super::super::entry::MEMORY;
use super::super::error::Result;
use super::super::forgotten::{self, Forgotten};
use super::super::name::{family, sidecar_name};
use super::super::section;
use super::super::text_matcher::Words;
use super::Tape;

/// Entries per step.
const PAGE: usize = 256;

/// The cached forgotten entries, and the value of `FORGOT` when they were read. Entries that another process forgets
/// are hidden from the next turn on: a store may be remote, and every read needs the cache.
#[derive(Default)]
pub(super) struct ForgottenFilter(Mutex<Option<(u64, Arc<Forgotten>)>>);

/// Incremented when this process forgets entries or resets a tape.
static FORGOT: AtomicU64 = AtomicU64::new(0);

/// Invalidates the caches of all handles.
pub(super) fn changed() {
    FORGOT.fetch_add(1, Ordering::Relaxed);
}

impl Tape {
    pub(super) fn new_filter(&self) -> Option<Arc<ForgottenFilter>> {
        self.filter.as_ref().map(|_| Arc::default())
    }

    /// The forgotten entries of the tape and its sidecars. Check this before showing anything that was derived from
    /// entries.
    ///
    /// # Errors
    ///
    /// The sidecar cannot be read.
    pub async fn forgotten(&self) -> Result<Arc<Forgotten>> {
        let forgot = FORGOT.load(Ordering::Relaxed);
        if let Some((known, forgotten)) = self.filter.as_ref().and_then(|filter| filter.lock().clone())
            && known == forgot
        {
            return Ok(forgotten);
        }
        // A tape whose name leaves no room for the sidecar's has none.
        let Ok(sidecar) = sidecar_name(family(&self.name), forgotten::SIDECAR) else { return Ok(Arc::default()) };
        let mut forgotten = Forgotten::default();
        let mut after = 0;
        loop {
            let page = self.store.read(&sidecar, after, PAGE).await?;
            let Some(end) = page.last() else { break };
            after = end.id;
            page.iter().for_each(|entry| forgotten.fold(entry));
        }
        let forgotten = Arc::new(forgotten);
        if let Some(filter) = &self.filter {
            *filter.lock() = Some((forgot, Arc::clone(&forgotten)));
        }
        Ok(forgotten)
    }

    /// The entries to hide on this tape.
    pub(super) async fn not_shown(&self) -> Result<Arc<Forgotten>> {
        match &self.filter {
            Some(_) => self.forgotten().await,
            None => Ok(Arc::default()),
        }
    }

    pub(super) async fn shown(&self, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        if entries.is_empty() {
            return Ok(entries);
        }
        let forgotten = self.not_shown().await?;
        if forgotten.is_empty() {
            return Ok(entries);
        }
        Ok(entries.into_iter().map(|entry| forgotten.shown(entry)).collect())
    }

    /// Forgets all entries of the tape and its sidecars that match, except the current memory section, which its plugin
    /// changes. `derived` names sidecars that were derived from the tape: they are forgotten entirely if anything is.
    /// Returns the number of newly forgotten entries; `dry` only counts them.
    ///
    /// # Errors
    ///
    /// The tape cannot be read, or the sidecar cannot be written.
    pub async fn forget(&self, words: &Words, derived: &[String], dry: bool) -> Result<u64> {
        let known = self.forgotten().await?;
        let family = family(&self.name);
        let mut marks = Vec::new();
        self.find(family, &known, &mut marks, |entry| words.stand_in(entry)).await?;
        let prefix = sidecar_name(family, forgotten::SIDECAR)?;
        let prefix = prefix.trim_end_matches(forgotten::SIDECAR);
        for sidecar in self.store.sidecars(family).await? {
            let name = sidecar.strip_prefix(prefix).unwrap_or_default();
            if name == forgotten::SIDECAR {
                continue;
            }
            let is_derived = !marks.is_empty() && derived.iter().any(|derived| derived == name);
            self.find(&sidecar, &known, &mut marks, |entry| is_derived || words.stand_in(entry)).await?;
        }
        if !dry && !marks.is_empty() {
            self.mark(&marks).await?;
        }
        Ok(marks.len() as u64)
    }

    /// Forgets entries of the tape or its sidecars that were just written.
    ///
    /// # Errors
    ///
    /// The sidecar cannot be written.
    pub async fn forget_entries<'e>(&self, entries: impl IntoIterator<Item = &'e Entry>) -> Result<()> {
        let marks: Vec<forgotten::Mark> = entries.into_iter().map(forgotten::Mark::new).collect();
        if marks.is_empty() { Ok(()) } else { self.mark(&marks).await }
    }

    async fn mark(&self, marks: &[forgotten::Mark]) -> Result<()> {
        let sidecar = sidecar_name(family(&self.name), forgotten::SIDECAR)?;
        let marked = self.store.append(&sidecar, forgotten::events(marks)?, None).await;
        changed();
        marked.map(drop)
    }

    /// The entries of one tape that `wanted` accepts and that are not forgotten, without the current memory.
    async fn find(
        &self,
        tape: &str,
        known: &Forgotten,
        marks: &mut Vec<forgotten::Mark>,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Result<()> {
        let holds = section::ids(&self.store.section(tape, MEMORY, None).await?);
        let mut after = 0;
        loop {
            let page = self.store.read(tape, after, PAGE).await?;
            let Some(end) = page.last() else { return Ok(()) };
            after = end.id;
            let found = page.iter().filter(|entry| holds.as_ref().is_none_or(|holds| !holds.contains(&entry.id)));
            let found = found.filter(|entry| wanted(entry) && forgotten::can_be(entry) && !known.holds(entry));
            marks.extend(found.map(forgotten::Mark::new));
            // Let other tasks run during a long tape.
            tokio::task::yield_now().await;
        }
    }
}

impl ForgottenFilter {
    fn lock(&self) -> parking_lot::MutexGuard<'_, Option<(u64, Arc<Forgotten>)>> {
        self.0.lock()
    }
}
