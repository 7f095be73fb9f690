//! What a store that can find entries is asked, and whether an entry may be meant.
//!
//! A [`Condition`] says less than a query or a search: a store may answer entries that do not fit, and each is looked at
//! again. So it is made to be easy to evaluate, wherever a store keeps its entries, and to leave nothing out.

use super::entry::Entry;

/// Elements and bytes of all lists of a condition together.
pub(super) const MAX_ELEMENTS: usize = 64;
pub(super) const MAX_BYTES: usize = 1_024;

/// The longest element, in bytes.
pub(super) const MAX_ELEMENT: usize = 256;

/// Which entries a query or a search may want. All parts must hold; [`Condition::default`] wants all entries, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// The exclusive lower bound, by id.
    pub after: u64,
    /// The exclusive upper bound; none: the end of the tape.
    pub before: Option<u64>,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Only events and anchors of that name.
    pub name: Option<String>,
    /// Each is a substring of the entry's line, both case-folded, as JSON spells it.
    pub texts: Vec<String>,
    /// Each is a substring as well, or nearly a word of the payload.
    pub similar: Vec<SimilarWord>,
    /// The earliest date, inclusive, as in [`Query`](super::Query).
    pub since: Option<String>,
    /// The latest date, inclusive.
    pub until: Option<String>,
    /// Whether candidates come from the end of the tape.
    pub newest_first: bool,
}

/// A word that may be misspelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarWord {
    /// Letter by letter in lower case.
    pub text: String,
    /// At most so many letters are inserted, dropped, replaced or swapped with a neighbour: 1 or 2.
    pub edits: u8,
}

/// What a store that can find entries has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// In the order that was asked for.
    pub entries: Vec<Entry>,
    /// The last id that was looked at, where there may be more behind it.
    pub next: Option<u64>,
}

impl Condition {
    /// Whether every entry between the bounds is wanted.
    pub(super) fn is_everything(&self) -> bool {
        let dated = self.since.is_some() || self.until.is_some();
        !dated && self.name.is_none() && self.kinds.is_empty() && self.texts.is_empty() && self.similar.is_empty()
    }

    /// The same with as much of its lists as every store has to take: what is left out is looked at by the host alone.
    pub(super) fn bounded(mut self) -> Self {
        let mut room = Room::new();
        // All kinds or none: an entry of any of them is wanted.
        let mut of_kinds = room;
        if self.kinds.iter().all(|kind| of_kinds.takes(kind)) {
            room = of_kinds;
        } else {
            self.kinds.clear();
        }
        self.name = self.name.filter(|name| room.takes(name));
        for text in &mut self.texts {
            text.truncate(text.floor_char_boundary(MAX_ELEMENT));
        }
        // The longest say most.
        self.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        self.texts.dedup();
        self.texts.retain(|text| !text.is_empty() && room.takes(text));
        self.similar.retain(|word| room.takes(&word.text));
        self
    }
}

/// What is left for the lists of a condition.
#[derive(Clone, Copy)]
pub(super) struct Room {
    elements: usize,
    bytes: usize,
}

impl Room {
    /// All that a condition may take.
    pub(super) fn new() -> Self {
        Self { elements: MAX_ELEMENTS, bytes: MAX_BYTES }
    }

    /// Whether there is room for an element, which has it then.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        if self.elements == 0 || text.len() > self.bytes.min(MAX_ELEMENT) {
            return false;
        }
        self.elements -= 1;
        self.bytes -= text.len();
        true
    }
}
