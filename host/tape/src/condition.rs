//! Conditions, which a store evaluates to find candidate entries.
//!
//! A [`Condition`] is weaker than a query or a search: a store may return entries that do not match, and the host
//! checks each again. It is easy to evaluate for any kind of storage, and it never excludes a match.

use super::entry::Entry;

/// Maximum elements of all lists of a condition together.
pub(super) const MAX_ELEMENTS: usize = 64;
pub(super) const MAX_BYTES: usize = 1_024;

/// Maximum length of an element, in bytes.
pub(super) const MAX_ELEMENT: usize = 256;

/// The candidates for a query or a search. All parts must hold; [`Condition::default`] selects all entries, oldest
/// first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// The exclusive lower bound, by id.
    pub after: u64,
    /// The exclusive upper bound; `None`: the end of the tape.
    pub before: Option<u64>,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Only events and anchors of that name.
    pub name: Option<String>,
    /// Substrings of the entry's line, both case-folded, in JSON spelling.
    pub texts: Vec<String>,
    /// Like `texts`, but a similar word in the payload matches too.
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
    /// In lower case, each letter by itself.
    pub text: String,
    /// The maximum edit distance (insertions, deletions, substitutions, transpositions): 1 or 2.
    pub edits: u8,
}

/// The candidates that a store found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// In the requested order.
    pub entries: Vec<Entry>,
    /// The last id that was examined, if there may be more candidates.
    pub next: Option<u64>,
}

impl Condition {
    /// Whether every entry between the bounds matches.
    pub(super) fn is_everything(&self) -> bool {
        let dated = self.since.is_some() || self.until.is_some();
        !dated && self.name.is_none() && self.kinds.is_empty() && self.texts.is_empty() && self.similar.is_empty()
    }

    /// Reduces the lists to the size that every store must accept. The host checks the rest itself.
    pub(super) fn bounded(mut self) -> Self {
        let mut room = Room::new();
        // All kinds or none: a subset would exclude matches.
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
        // Longer texts are more selective.
        self.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        self.texts.dedup();
        self.texts.retain(|text| !text.is_empty() && room.takes(text));
        self.similar.retain(|word| room.takes(&word.text));
        self
    }
}

/// Remaining capacity of a condition's lists.
#[derive(Clone, Copy)]
pub(super) struct Room {
    elements: usize,
    bytes: usize,
}

impl Room {
    /// The whole capacity.
    pub(super) fn new() -> Self {
        Self { elements: MAX_ELEMENTS, bytes: MAX_BYTES }
    }

    /// Reserves capacity for an element, if there is enough.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        if self.elements == 0 || text.len() > self.bytes.min(MAX_ELEMENT) {
            return false;
        }
        self.elements -= 1;
        self.bytes -= text.len();
        true
    }
}
