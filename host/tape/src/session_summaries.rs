//! Summaries of many sessions, each read again only after a write.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::error::{Error, Result};
use super::forgotten;
use super::name::sidecar_name;
use super::revision::Revision;
use super::session::{SessionSummary, session_summary};
use super::tapes::Tapes;

/// Maximum summaries that are kept, of about half a kilobyte each.
const MAX_KEPT: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Tapes that are read at once.
const CONCURRENCY: usize = 8;

/// The revisions of a tape and of the list of its forgotten entries.
type Revisions = (Revision, Revision);

/// The last summaries of sessions, by tape. They are those of one store: a store that tells no revisions gets none of them.
pub struct SummaryCache(Mutex<LruCache<String, (Revisions, SessionSummary)>>);

impl Default for SummaryCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_KEPT)))
    }
}

impl SummaryCache {
    fn get(&self, tape: &str, revisions: Option<Revisions>) -> Option<SessionSummary> {
        let mut kept = self.0.lock();
        let (of, summary) = kept.get(tape)?;
        (Some(*of) == revisions).then(|| summary.clone())
    }

    fn put(&self, tape: String, revisions: Revisions, summary: SessionSummary) {
        self.0.lock().put(tape, (revisions, summary));
    }
}

impl Tapes {
    /// The [`session_summary`] of each of these tapes, in order. A tape that was not written since its last summary is not
    /// read again, where the store tells [revisions](super::Store::revisions).
    ///
    /// # Errors
    ///
    /// A name is invalid, or a tape cannot be read.
    pub async fn session_summaries(&self, tapes: &[String]) -> Result<Vec<SessionSummary>> {
        // Before a tape is read: a write meanwhile makes the next call read it again.
        let revisions = self.revisions(tapes).await?;
        let mut summaries: Vec<Option<SessionSummary>> = Vec::with_capacity(tapes.len());
        let mut reads = JoinSet::new();
        for (place, (tape, revisions)) in tapes.iter().zip(revisions).enumerate() {
            let kept = self.summaries.get(tape, revisions);
            if kept.is_none() {
                while reads.len() >= CONCURRENCY {
                    self.finish(&mut reads, &mut summaries).await?;
                }
                let (opened, tape) = (self.open(tape)?, tape.clone());
                reads.spawn(async move { (place, tape, revisions, session_summary(&opened).await) });
            }
            summaries.push(kept);
        }
        while !reads.is_empty() {
            self.finish(&mut reads, &mut summaries).await?;
        }
        Ok(summaries.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Waits for the next summary.
    async fn finish(&self, reads: &mut JoinSet<Read>, summaries: &mut [Option<SessionSummary>]) -> Result<()> {
        let Some(read) = reads.join_next().await else { return Ok(()) };
        let failed = |error| Error::Io { action: "read a tape".to_owned(), source: std::io::Error::other(error) };
        let (place, tape, revisions, summary) = read.map_err(failed)?;
        let summary = summary?;
        if let Some(revisions) = revisions {
            self.summaries.put(tape, revisions, summary.clone());
        }
        if let Some(slot) = summaries.get_mut(place) {
            *slot = Some(summary);
        }
        Ok(())
    }

    async fn revisions(&self, tapes: &[String]) -> Result<Vec<Option<Revisions>>> {
        // A tape whose name leaves no room for the sidecar's has none.
        let sidecars = tapes.iter().map(|tape| sidecar_name(tape, forgotten::SIDECAR).unwrap_or_else(|_| tape.clone()));
        let names: Vec<String> = tapes.iter().cloned().chain(sidecars).collect();
        let revisions = self.store().revisions(&names).await?;
        let (of_tapes, of_sidecars) = revisions.split_at_checked(tapes.len()).unwrap_or_default();
        let pairs = of_tapes.iter().zip(of_sidecars);
        Ok(pairs.map(|(tape, sidecar)| Some(((*tape)?, (*sidecar)?))).collect())
    }
}

/// A tape's place in the list, its name and revisions, and its summary.
type Read = (usize, String, Option<Revisions>, Result<SessionSummary>);
