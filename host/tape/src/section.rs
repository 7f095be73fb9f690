//! Sections: versioned parts of a tape that a plugin owns.
//!
//! A section is an anchor `NAME/open`, events, and an anchor `NAME/seal`; both anchors have the section's version in
//! their state, as `{"version": 3}`. A change writes a new version of the whole section; the complete section with the
//! highest version is current. An open without its seal is ignored.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::entry::{Entry, MEMORY};
use super::error::{Error, Result};
use super::json;
use super::lookup::Lookup;
use super::store::Store;
use super::summary::{EntryOffset, Newest};

/// Maximum names of sections in the index, besides the memory's.
const MAX_NAMES: usize = 32;

/// Maximum opens without a seal in the index. Each write has one; a crash leaves one behind.
const MAX_OPEN: usize = 16;

/// Maximum length of a section, in entries.
const MAX_ENTRIES: usize = 1024;

/// A section anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SectionAnchor {
    pub(super) section: String,
    /// `false`: it seals.
    pub(super) opens: bool,
    pub(super) version: u64,
}

impl SectionAnchor {
    /// Parses an anchor of a section with a version.
    pub(super) fn parse(entry: &Entry) -> Option<Self> {
        if !entry.is_section_anchor() {
            return None;
        }
        let name = entry.anchor_name()?;
        let (section, opens) = match name.rsplit_once('/')? {
            (section, "open") => (section, true),
            (section, "seal") => (section, false),
            _ => return None,
        };
        let version = json::get(json::get(&entry.payload, "state")?, "version")?.parse().ok()?;
        Some(Self { section: section.to_owned(), opens, version })
    }
}

/// The position of a complete section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginSection {
    /// The version of the section.
    pub version: u64,
    /// The anchor that opens the section.
    pub open: EntryOffset,
    /// The anchor that seals the section.
    pub seal: EntryOffset,
}

/// The sections of a tape by name, folded from its entries in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SectionIndex {
    known: HashMap<Box<str>, Versions>,
    /// Whether a name did not fit.
    lost: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Versions {
    /// Opens without a seal so far, newest last.
    opens: Vec<(u64, EntryOffset)>,
    highest: Option<PluginSection>,
}

impl SectionIndex {
    /// Adds the next entry of the tape.
    pub(super) fn fold(&mut self, entry: &Entry, at: EntryOffset) {
        let Some(mark) = SectionAnchor::parse(entry) else { return };
        if !self.known.contains_key(mark.section.as_str()) {
            let others = self.known.keys().filter(|name| ***name != *MEMORY).count();
            if mark.section != MEMORY && (others >= MAX_NAMES || mark.section.len() > 128) {
                self.lost = true;
                return;
            }
        }
        self.known.entry(mark.section.into()).or_default().add(mark.opens, mark.version, at);
    }

    /// The position of the current version of a section.
    pub(super) fn newest(&self, name: &str) -> Newest<PluginSection> {
        match self.known.get(name) {
            Some(versions) => versions.highest.map_or(Newest::Nothing, Newest::Known),
            None if self.lost => Newest::Unknown,
            None => Newest::Nothing,
        }
    }
}

impl Versions {
    fn add(&mut self, opens: bool, version: u64, at: EntryOffset) {
        if opens {
            if self.opens.len() >= MAX_OPEN {
                self.opens.remove(0);
            }
            self.opens.push((version, at));
            return;
        }
        let Some(index) = self.opens.iter().rposition(|(opened, _)| *opened == version) else { return };
        let (_, open) = self.opens.remove(index);
        // Of two with the same version the later one is current.
        if self.highest.is_none_or(|highest| highest.version <= version) {
            self.highest = Some(PluginSection { version, open, seal: at });
        }
    }
}

/// Finds the current version of a section from the end, seal by seal, without an index: up to the first version that is
/// not lower than the one after it. Returns the entries from its open to its seal, or none.
pub(super) async fn walk<S: Store + ?Sized>(
    store: &S,
    tape: &str,
    name: &str,
    before: Option<u64>,
) -> Result<Vec<Entry>> {
    let (open_name, seal_name) = (Lookup::anchor(&format!("{name}/open")), Lookup::anchor(&format!("{name}/seal")));
    let mut before = before;
    let mut found: Option<(u64, u64, u64)> = None;
    while let Some(seal) = store.newest(tape, &seal_name, before).await? {
        before = Some(seal.id);
        let Some(mark) = SectionAnchor::parse(&seal).filter(|mark| !mark.opens) else { continue };
        match found {
            Some((version, ..)) if mark.version < version => break,
            Some((version, ..)) if mark.version == version => continue,
            _ => {}
        }
        let mut behind = Some(seal.id);
        for _ in 0..MAX_OPEN {
            let Some(open) = store.newest(tape, &open_name, behind).await? else { break };
            if SectionAnchor::parse(&open).is_some_and(|opened| opened.opens && opened.version == mark.version) {
                found = Some((mark.version, open.id, seal.id));
                break;
            }
            behind = Some(open.id);
        }
    }
    let Some((_, open, seal)) = found else { return Ok(Vec::new()) };
    // Read only up to the seal: megabytes may follow.
    let most = usize::try_from(seal.saturating_sub(open)).map_or(MAX_ENTRIES, |between| between.min(MAX_ENTRIES)) + 1;
    let mut entries = store.read(tape, open.saturating_sub(1), most).await?;
    entries.retain(|entry| entry.id <= seal);
    check(name, &entries, seal)?;
    Ok(entries)
}

/// The version of a complete section; `None` without one.
pub fn version(section: &[Entry]) -> Option<u64> {
    section.last().and_then(SectionAnchor::parse).map(|mark| mark.version)
}

/// The ids of a complete section; `None` without one.
pub fn ids(section: &[Entry]) -> Option<std::ops::RangeInclusive<u64>> {
    section.first().zip(section.last()).map(|(open, seal)| open.id..=seal.id)
}

/// Rejects a section without its seal.
pub(super) fn check(name: &str, entries: &[Entry], seal: u64) -> Result<()> {
    match entries.last() {
        Some(last) if last.id == seal && entries.len() <= MAX_ENTRIES => Ok(()),
        _ => Err(Error::invalid(format!("the section `{name}` is longer than {MAX_ENTRIES} entries"))),
    }
}

/// Maximum entries that are read of a section before it is rejected.
pub(super) const fn longest() -> usize {
    MAX_ENTRIES
}

/// The current version of a section among `entries`, in order.
pub(super) fn among<'e>(entries: impl Iterator<Item = &'e Entry> + Clone, name: &str) -> Option<(u64, Vec<Entry>)> {
    let mut sections = SectionIndex::default();
    let anchors = entries.clone().filter(|entry| entry.is("anchor"));
    anchors.for_each(|entry| sections.fold(entry, EntryOffset { id: entry.id, offset: 0 }));
    match sections.newest(name) {
        Newest::Known(section) => {
            let inside = |entry: &&Entry| (section.open.id..=section.seal.id).contains(&entry.id);
            Some((section.version, entries.filter(inside).cloned().collect()))
        }
        _ => None,
    }
}
