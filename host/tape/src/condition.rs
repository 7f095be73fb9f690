//! What a store that can find entries is asked, and whether an entry may be meant.
//!
//! A [`Condition`] says less than a query or a search: a store may answer entries that do not fit, and each is looked at
//! again. So it is made to be easy to evaluate, wherever a store keeps its entries, and to leave nothing out.

use super::entry::Entry;
use super::error::{Error, Result};
use super::query::Filter;
use super::search::SimilarWords;

/// Elements and bytes of all lists of a condition together.
const MAX_ELEMENTS: usize = 64;
const MAX_BYTES: usize = 1_024;

/// The longest element, in bytes.
const MAX_ELEMENT: usize = 256;

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
        let mut room = Room { elements: MAX_ELEMENTS, bytes: MAX_BYTES };
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
struct Room {
    elements: usize,
    bytes: usize,
}

impl Room {
    /// Whether there is room for an element, which has it then.
    fn takes(&mut self, text: &str) -> bool {
        if self.elements == 0 || text.len() > self.bytes.min(MAX_ELEMENT) {
            return false;
        }
        self.elements -= 1;
        self.bytes -= text.len();
        true
    }
}

/// Evaluates a [`Condition`] for one entry at a time, but for its bounds.
pub(super) struct Prefilter {
    filter: Filter,
    texts: Vec<String>,
    similar: SimilarWords,
}

impl Prefilter {
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when the lists are too long, a date is none, or more than two edits are to be forgiven.
    pub(super) fn new(condition: &Condition) -> Result<Self> {
        let mut room = Room { elements: MAX_ELEMENTS, bytes: MAX_BYTES };
        let texts = condition.kinds.iter().chain(&condition.name).chain(&condition.texts);
        if !texts.chain(condition.similar.iter().map(|word| &word.text)).all(|text| room.takes(text)) {
            return Err(Error::invalid(format!(
                "a condition has at most {MAX_ELEMENTS} texts of {MAX_ELEMENT} bytes, and {MAX_BYTES} bytes of them"
            )));
        }
        if condition.similar.iter().any(|word| word.edits > 2) {
            return Err(Error::invalid("at most 2 edits are forgiven in a similar word"));
        }
        let mut filter = Filter::from_parts(&condition.kinds, condition.since.as_deref(), condition.until.as_deref())?;
        filter.name.clone_from(&condition.name);
        let texts = condition.texts.iter().map(|text| fold(text)).collect();
        Ok(Self { filter, texts, similar: SimilarWords::new(&condition.similar) })
    }

    /// The same condition as every store takes it: texts folded, dates in UTC.
    pub(super) fn condition(&self, condition: &Condition) -> Condition {
        Condition { texts: self.texts.clone(), ..self.filter.condition(condition.clone()) }
    }

    /// Whether the entry may be wanted; false only where it is not.
    pub(super) fn lets_pass(&mut self, entry: &Entry) -> bool {
        if !self.filter.accepts(entry) {
            return false;
        }
        if self.texts.is_empty() && self.similar.is_empty() {
            return true;
        }
        let line = entry.line();
        // Another program may have escaped what this one writes literally.
        if line.contains("\\u") || line.contains("\\/") {
            return true;
        }
        let line = fold(&line);
        self.texts.iter().all(|text| line.contains(text)) && self.similar.stand_in(entry, &line)
    }
}

/// The text with equal letters for all that are alike but for case: to the rules of queries, which compare lower-case texts,
/// to those of searches, which compare by simple case folding, and to Unicode's full case folding. Folds each character by
/// itself, so that a text that stands in another one stands there folded, too.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // The upper case of this letter is that of another one.
            'ı' => folded.push(character),
            _ if character.is_ascii() => folded.push(character.to_ascii_lowercase()),
            // Some letters have only their upper case in common.
            _ => folded.extend(character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All characters that have another case.
    fn cased() -> Vec<char> {
        let is_cased = |c: &char| !c.to_lowercase().eq([*c]) || !c.to_uppercase().eq([*c]);
        ('\0'..=char::MAX).filter(is_cased).collect()
    }

    #[test]
    fn letters_that_a_search_takes_for_alike_fold_alike() {
        let all: String = cased().into_iter().collect();
        let mut pairs = 0;
        for one in cased() {
            let pattern = regex::escape(&one.to_string());
            let regex = regex::RegexBuilder::new(&pattern).case_insensitive(true).build().expect("it is one letter");
            for other in regex.find_iter(&all) {
                assert_eq!(fold(other.as_str()), fold(&one.to_string()), "{one} {}", other.as_str());
                pairs += usize::from(other.as_str() != one.to_string());
            }
        }
        assert!(pairs > 2_000, "{pairs}");
    }

    #[test]
    fn what_a_query_finds_in_a_text_is_found_in_the_folded_one() {
        for one in cased() {
            for text in [one.to_string(), format!("a{one}"), format!("{one}a"), format!("a{one}b")] {
                let lower = text.to_lowercase();
                assert_eq!(fold(&lower), fold(&text), "{text}");
                assert!(fold(&format!("x{text}, y")).contains(&fold(&lower)), "{text}");
            }
        }
    }

    #[test]
    fn a_condition_is_cut_to_what_every_store_takes() {
        let long = "ä".repeat(2_000);
        let condition = Condition {
            kinds: vec!["message".to_owned()],
            texts: vec!["b".to_owned(), long.clone(), String::new(), long],
            similar: (0..100).map(|n| SimilarWord { text: format!("word{n}"), edits: 1 }).collect(),
            ..Condition::default()
        };
        assert!(Prefilter::new(&condition).is_err());
        let bounded = condition.bounded();
        assert_eq!(bounded.kinds, ["message"]);
        assert_eq!(bounded.texts, ["ä".repeat(MAX_ELEMENT / 2), "b".to_owned()]);
        assert_eq!(bounded.similar.len(), MAX_ELEMENTS - 3);
        assert!(Prefilter::new(&bounded).is_ok());
        let kinds = (0..65).map(|n| n.to_string()).collect();
        assert!(Condition { kinds, ..Condition::default() }.bounded().is_everything());
    }
}
