//! Summaries of tapes: statistics and positions of the newest entries, by kind and name.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::info::Info;
use super::lookup::Lookup;
use super::section::{PluginSection, SectionIndex};

/// How many kinds are remembered, and how many names of events and of anchors.
const KINDS: usize = 64;
const NAMES: usize = 512;

/// The longest kind or name that is remembered, in bytes.
const MAX_NAME: usize = 128;

/// Where an entry stands.
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
    /// There is none.
    Nothing,
    /// More was on the tape than is remembered: only reading it tells.
    Unknown,
}

/// All entries of a tape, folded into a few kilobytes, however many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TapeSummary {
    info: Info,
    /// The newest anchor, a section's too, and the newest that begins a phase. Apart from the kinds, because they must not
    /// fall out.
    anchor: Option<EntryOffset>,
    phase: Option<EntryOffset>,
    kinds: Latest<KINDS>,
    // Apart, so that a plugin that names each of its anchors anew does not push out the events.
    events: Latest<NAMES>,
    anchors: Latest<NAMES>,
    sections: SectionIndex,
}

impl TapeSummary {
    /// Adds the next entry of the tape, which stands at `place`, behind all that were added.
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

    /// How many names are remembered.
    pub(super) fn names(&self) -> usize {
        self.kinds.places.len() + self.events.places.len() + self.anchors.places.len()
    }

    /// Adds a line that holds no entry.
    pub fn unreadable(&mut self) {
        self.info.unreadable = self.info.unreadable.saturating_add(1);
    }

    /// The counts, of the tape of that name.
    pub fn info(&self, name: &str) -> Info {
        Info { name: name.to_owned(), ..self.info.clone() }
    }

    /// Where the section of that name stands that holds: the whole one of the highest version.
    pub fn section(&self, name: &str) -> Newest<PluginSection> {
        self.sections.newest(name)
    }

    /// The newest entry that `sought` accepts.
    pub fn newest(&self, lookup: &Lookup) -> Newest {
        match lookup {
            Lookup::Anchor => self.anchor.map_or(Newest::Nothing, Newest::Known),
            Lookup::Phase => self.phase.map_or(Newest::Nothing, Newest::Known),
            Lookup::Kind(kind) => self.kinds.get(kind),
            Lookup::Named { kind, name } => match kind.as_str() {
                "event" => self.events.get(name),
                "anchor" => self.anchors.get(name),
                // No other kind has names.
                _ => Newest::Nothing,
            },
        }
    }
}

impl TapeSummary {
    /// Keeps the answer that reading the whole tape has given where this did not know it, so that it is read once.
    pub(super) fn learn(&mut self, lookup: &Lookup, place: Option<EntryOffset>) {
        match lookup {
            Lookup::Kind(kind) => self.kinds.learn(kind, place),
            Lookup::Named { kind, name } if kind == "event" => self.events.learn(name, place),
            Lookup::Named { kind, name } if kind == "anchor" => self.anchors.learn(name, place),
            Lookup::Named { .. } | Lookup::Anchor | Lookup::Phase => {}
        }
    }
}

/// The last place of each of `BOUND` names at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Latest<const BOUND: usize> {
    /// A name that is known not to be on the tape has none.
    places: HashMap<Box<str>, Option<EntryOffset>>,
    /// Whether a name fell out. What is not here may then be one that did.
    lost: bool,
    /// Whether there was a name that is too long to be remembered.
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

    /// Keeps what reading the tape has told of a name that fell out.
    fn learn(&mut self, name: &str, place: Option<EntryOffset>) {
        if name.len() <= MAX_NAME {
            if self.places.len() >= BOUND && !self.places.contains_key(name) {
                self.make_room();
            }
            // What was added meanwhile is newer.
            self.places.entry(name.into()).or_insert(place);
        }
    }

    /// Drops the older half at once: one by one, each new name of a tape that has thousands would look at all of them.
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
