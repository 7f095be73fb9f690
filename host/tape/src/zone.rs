//! Zones: stretches of a tape that a plugin keeps for itself.
//!
//! A zone is an anchor `NAME/open`, events, and an anchor `NAME/seal`; both anchors have the zone's version in their
//! state, as `{"version": 3}`. Nothing is changed in place: who changes a zone writes all of it anew under the next
//! version, and the whole zone of the highest version is what holds. An open without its seal is no zone.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::error::{Error, Result};
use super::json;
use super::lookup::Lookup;
use super::store::Store;
use super::summary::{EntryOffset, Newest};

/// The zone that memory is kept in: searches for guests pass over its past.
pub const MEMORY: &str = "memory";

/// How many names of zones are remembered beside the memory's.
const NAMES: usize = 32;

/// How many opens are remembered that have no seal yet. One write has one; a program that crashes leaves one each time.
const OPENS: usize = 16;

/// How long a zone may be, in entries.
const LONGEST: usize = 1024;

/// What an anchor of a zone says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) zone: String,
    /// Else it seals.
    pub(super) opens: bool,
    pub(super) version: u64,
}

impl Mark {
    /// What that entry says, if it is an anchor of a zone with a version.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        if !entry.is_zone() {
            return None;
        }
        let name = entry.anchor_name()?;
        let (zone, opens) = match name.rsplit_once('/')? {
            (zone, "open") => (zone, true),
            (zone, "seal") => (zone, false),
            _ => return None,
        };
        let version = json::get(json::get(&entry.payload, "state")?, "version")?.parse().ok()?;
        Some(Self { zone: zone.to_owned(), opens, version })
    }
}

/// Where a whole zone stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// The version of the zone.
    pub version: u64,
    /// The anchor that opens the zone.
    pub open: EntryOffset,
    /// The anchor that seals the zone.
    pub seal: EntryOffset,
}

/// The zones of a tape by name, folded from its entries in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Zones {
    known: HashMap<Box<str>, Versions>,
    /// Whether there was a name that found no room.
    lost: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Versions {
    /// Without their seal so far, the newest last.
    opens: Vec<(u64, EntryOffset)>,
    highest: Option<Zone>,
}

impl Zones {
    /// Adds the next entry of the tape.
    pub(super) fn fold(&mut self, entry: &Entry, place: EntryOffset) {
        let Some(mark) = Mark::of(entry) else { return };
        if !self.known.contains_key(mark.zone.as_str()) {
            let others = self.known.keys().filter(|name| ***name != *MEMORY).count();
            if mark.zone != MEMORY && (others >= NAMES || mark.zone.len() > 128) {
                self.lost = true;
                return;
            }
        }
        self.known.entry(mark.zone.into()).or_default().add(mark.opens, mark.version, place);
    }

    /// Where the zone of that name stands that holds.
    pub(super) fn newest(&self, name: &str) -> Newest<Zone> {
        match self.known.get(name) {
            Some(versions) => versions.highest.map_or(Newest::Nothing, Newest::Known),
            None if self.lost => Newest::Unknown,
            None => Newest::Nothing,
        }
    }
}

impl Versions {
    fn add(&mut self, opens: bool, version: u64, place: EntryOffset) {
        if opens {
            if self.opens.len() >= OPENS {
                self.opens.remove(0);
            }
            self.opens.push((version, place));
            return;
        }
        let Some(at) = self.opens.iter().rposition(|(opened, _)| *opened == version) else { return };
        let (_, open) = self.opens.remove(at);
        // Of two with the same version the later one holds.
        if self.highest.is_none_or(|highest| highest.version <= version) {
            self.highest = Some(Zone { version, open, seal: place });
        }
    }
}

/// Looks from the end for the zone that holds, seal by seal, where nobody has counted versions: to the first version that
/// is not lower than the one behind it. The entries from its open to its seal; empty: there is none.
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
        let Some(mark) = Mark::of(&seal).filter(|mark| !mark.opens) else { continue };
        match found {
            Some((version, ..)) if mark.version < version => break,
            Some((version, ..)) if mark.version == version => continue,
            _ => {}
        }
        let mut behind = Some(seal.id);
        for _ in 0..OPENS {
            let Some(open) = store.newest(tape, &open_name, behind).await? else { break };
            if Mark::of(&open).is_some_and(|opened| opened.opens && opened.version == mark.version) {
                found = Some((mark.version, open.id, seal.id));
                break;
            }
            behind = Some(open.id);
        }
    }
    let Some((_, open, seal)) = found else { return Ok(Vec::new()) };
    // No further than its seal: what stands behind it may be megabytes.
    let most = usize::try_from(seal.saturating_sub(open)).map_or(LONGEST, |between| between.min(LONGEST)) + 1;
    let mut entries = store.read(tape, open.saturating_sub(1), most).await?;
    entries.retain(|entry| entry.id <= seal);
    check(name, &entries, seal)?;
    Ok(entries)
}

/// The version of a zone that was read whole; none where there is no zone.
pub fn version(zone: &[Entry]) -> Option<u64> {
    zone.last().and_then(Mark::of).map(|mark| mark.version)
}

/// The ids of a zone that was read whole; none where there is no zone.
pub fn ids(zone: &[Entry]) -> Option<std::ops::RangeInclusive<u64>> {
    zone.first().zip(zone.last()).map(|(open, seal)| open.id..=seal.id)
}

/// Refuses a stretch that does not come to its seal.
pub(super) fn check(name: &str, entries: &[Entry], seal: u64) -> Result<()> {
    match entries.last() {
        Some(last) if last.id == seal && entries.len() <= LONGEST => Ok(()),
        _ => Err(Error::invalid(format!("the zone `{name}` is longer than {LONGEST} entries"))),
    }
}

/// How many entries are read of a zone before it is refused.
pub(super) const fn longest() -> usize {
    LONGEST
}

/// The zone that holds among entries that are at hand, in their order.
pub(super) fn among<'e>(entries: impl Iterator<Item = &'e Entry> + Clone, name: &str) -> Option<(u64, Vec<Entry>)> {
    let mut zones = Zones::default();
    let anchors = entries.clone().filter(|entry| entry.is("anchor"));
    anchors.for_each(|entry| zones.fold(entry, EntryOffset { id: entry.id, offset: 0 }));
    match zones.newest(name) {
        Newest::Known(zone) => {
            let inside = |entry: &&Entry| (zone.open.id..=zone.seal.id).contains(&entry.id);
            Some((zone.version, entries.filter(inside).cloned().collect()))
        }
        _ => None,
    }
}
