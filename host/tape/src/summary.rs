//! Summaries of tapes: statistics and positions of the newest entries, by kind and name.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::info::Info;
use super::lookup::Lookup;
use super::section::{PluginSection, SectionIndex};

/// Maximum number of kinds, and of names of events and of anchors.
const KINDS: usize = 64;
const NAMES: usize = 512;

/// Maximum length of a kind or name, in bytes.
const MAX_NAME: usize = 128;

/// The position of an entry.
///
/// It may come from a corrupt file: a reader checks that the entry at `offset` has this `id` and matches the lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryOffset {
    /// The id of the entry.
    pub id: u64,
    /// Where its line begins, in bytes from the beginning of the file.
    pub offset: u64,
}

/// The newest matching entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest<T = EntryOffset> {
    /// The newest one.
    Known(T),
    /// There is no such entry.
    Nothing,
    /// The summary is incomplete; the tape must be read.
    Unknown,
}

/// A summary of all entries of a tape, in a few kilobytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TapeSummary {
    info: Info,
    /// The newest anchor (section anchors included), and the newest that begins a phase. Separate from the kinds, so
    /// that they are not evicted.
    anchor: Option<EntryOffset>,
    phase: Option<EntryOffset>,
    kinds: Latest<KINDS>,
    // Separate, so that many names of anchors do not evict events.
    events: Latest<NAMES>,
    anchors: Latest<NAMES>,
    sections: SectionIndex,
}

impl TapeSummary {
    /// Adds the next entry of the tape, at `place`.
    pub fn fold(&mut self, entry: &Entry, place: EntryOffset) {
        let name = entry.name();
        self.info.count_named(entry, name.as_deref());
        self.kinds.put(&entry.kind, place);
        let is_anchor = entry.is("anchor");
        if let Some(name) = &name {
            let names = if is_anchor { &mut self.anchors } else { &mut self.events };
            names.put(name, place);
        }
        if is_anchor {
            self.anchor = Some(place);
            self.sections.fold(entry, place);
            if entry.begins_phase() {
                self.phase = Some(place);
            }
        }
    }

    /// Number of names.
    pub(super) fn names(&self) -> usize {
        self.kinds.places.len() + self.events.places.len() + self.anchors.places.len()
    }

    /// Counts an unreadable line.
    pub fn unreadable(&mut self) {
        self.info.unreadable = self.info.unreadable.saturating_add(1);
    }

    /// The statistics of the tape of that name.
    pub fn info(&self, name: &str) -> Info {
        Info { name: name.to_owned(), ..self.info.clone() }
    }

    /// The position of the current section of that name: the complete one with the highest version.
    pub fn section(&self, name: &str) -> Newest<PluginSection> {
        self.sections.newest(name)
    }

    /// The newest entry that matches `lookup`.
    pub fn newest(&self, lookup: &Lookup) -> Newest {
        match lookup {
            Lookup::Anchor => self.anchor.map_or(Newest::Nothing, Newest::Known),
            Lookup::Phase => self.phase.map_or(Newest::Nothing, Newest::Known),
            Lookup::Kind(kind) => self.kinds.get(kind),
            Lookup::Named { kind, name } => match kind.as_str() {
                "event" => self.events.get(name),
                "anchor" => self.anchors.get(name),
                // Other kinds have no names.
                _ => Newest::Nothing,
            },
        }
    }
}

impl TapeSummary {
    /// Records the result of reading the whole tape for an unknown lookup.
    pub(super) fn learn(&mut self, lookup: &Lookup, place: Option<EntryOffset>) {
        match lookup {
            Lookup::Kind(kind) => self.kinds.learn(kind, place),
            Lookup::Named { kind, name } if kind == "event" => self.events.learn(name, place),
            Lookup::Named { kind, name } if kind == "anchor" => self.anchors.learn(name, place),
            Lookup::Named { .. } | Lookup::Anchor | Lookup::Phase => {}
        }
    }
}

/// The last position of each of at most `BOUND` names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Latest<const BOUND: usize> {
    /// `None` for a name that is known to be absent.
    places: HashMap<Box<str>, Option<EntryOffset>>,
    /// Whether a name was evicted, so that a missing one may be on the tape.
    lost: bool,
    /// Whether there was a name that exceeds the maximum length.
    long: bool,
}

impl<const BOUND: usize> Latest<BOUND> {
    fn put(&mut self, name: &str, place: EntryOffset) {
        if let Some(known) = self.places.get_mut(name) {
            *known = Some(place);
        } else if name.len() > MAX_NAME {
            self.long = true;
        } else {
            if self.places.len() >= BOUND {
                self.make_room();
            }
            self.places.insert(name.into(), Some(place));
        }
    }

    /// Records the result of reading the tape for an evicted name.
    fn learn(&mut self, name: &str, place: Option<EntryOffset>) {
        if name.len() <= MAX_NAME {
            if self.places.len() >= BOUND && !self.places.contains_key(name) {
                self.make_room();
            }
            // An entry that was added meanwhile is newer.
            self.places.entry(name.into()).or_insert(place);
        }
    }

    /// Evicts the older half at once; evicting one by one would scan all names for each new one.
    fn make_room(&mut self) {
        let mut offsets: Vec<u64> = self.places.values().flatten().map(|place| place.offset).collect();
        offsets.sort_unstable();
        let newest_dropped = offsets.get(offsets.len() / 2).copied().unwrap_or(u64::MAX);
        self.places.retain(|_, place| place.is_some_and(|place| place.offset > newest_dropped));
        self.lost = true;
    }

    fn get(&self, name: &str) -> Newest {
        let fell_out = if name.len() > MAX_NAME { self.long } else { self.lost };
        match self.places.get(name) {
            Some(Some(place)) => Newest::Known(*place),
            Some(None) => Newest::Nothing,
            None if fell_out => Newest::Unknown,
            None => Newest::Nothing,
        }
    }
}
