//! Removal of superseded section versions, which would make an old tape grow without bound.
//!
//! Each change of a section writes a new version. Superseded versions are kept for a while, so that mistakes can be
//! undone, and are then removed from the tape. The current version always stays.

use std::collections::HashMap;

use jiff::Timestamp;

use super::date;
use super::entry::Entry;
use super::erase::Erasure;
use super::error::Result;
use super::section::SectionAnchor;
use super::store::Store;

/// Entries per step.
const PAGE: usize = 256;

/// A version of a section.
struct Version {
    version: u64,
    entries: Erasure,
    /// Date of its seal, or of its open if it has no seal.
    date: Option<Timestamp>,
}

/// The versions of one section, in the order of the tape.
#[derive(Default)]
struct Versions {
    /// Versions without a seal so far.
    open: Vec<Version>,
    holds: Option<Version>,
}

/// The entries to erase: versions of sections that were superseded before `cutoff`, and unsealed ones that were begun
/// before it.
///
/// # Errors
///
/// The tape cannot be read.
pub(crate) async fn superseded<S: Store + ?Sized>(store: &S, tape: &str, cutoff: Timestamp) -> Result<Erasure> {
    let mut sections: HashMap<String, Versions> = HashMap::new();
    let mut gone = Erasure::default();
    let mut after = 0;
    loop {
        let page = store.read(tape, after, PAGE).await?;
        let Some(end) = page.last() else { break };
        after = end.id;
        for entry in &page {
            if let Some(mark) = SectionAnchor::parse(entry) {
                sections.entry(mark.section.clone()).or_default().mark(&mark, entry, cutoff, &mut gone);
            } else if let Some(section) = entry.section_name()
                && let Some(open) = sections.get_mut(&section).and_then(|versions| versions.open.last_mut())
            {
                open.entries.add(entry);
            }
        }
        tokio::task::yield_now().await;
    }
    for open in sections.into_values().flat_map(|versions| versions.open) {
        if is_before(open.date, cutoff) {
            gone.add_all(open.entries);
        }
    }
    Ok(gone)
}

impl Versions {
    fn mark(&mut self, mark: &SectionAnchor, entry: &Entry, cutoff: Timestamp, gone: &mut Erasure) {
        let date = date_of(entry);
        if mark.opens {
            let entries = Erasure::new([entry]);
            return self.open.push(Version { version: mark.version, entries, date });
        }
        // A seal without an open belongs to no version, and is kept.
        let Some(at) = self.open.iter().rposition(|open| open.version == mark.version) else { return };
        let mut sealed = self.open.remove(at);
        sealed.entries.add(entry);
        sealed.date = date;
        let old = match self.holds.take() {
            Some(holds) if holds.version > sealed.version => {
                self.holds = Some(holds);
                Some(sealed)
            }
            holds => {
                self.holds = Some(sealed);
                holds
            }
        };
        // The version was superseded at this date.
        if let Some(old) = old.filter(|_| is_before(date, cutoff)) {
            gone.add_all(old.entries);
        }
    }
}

fn date_of(entry: &Entry) -> Option<Timestamp> {
    date::span(&entry.date).map(|(first, _)| first)
}

/// Entries with an invalid date are kept.
fn is_before(date: Option<Timestamp>, cutoff: Timestamp) -> bool {
    date.is_some_and(|date| date < cutoff)
}
