//! Evaluation of conditions.

use super::condition::{Condition, MAX_BYTES, MAX_ELEMENT, MAX_ELEMENTS, Room};
use super::entry::Entry;
use super::error::{Error, Result};
use super::filter::Filter;
use super::fold::fold;
use super::search::SimilarWords;

/// Evaluates a [`Condition`] for single entries, without its bounds.
pub(super) struct Prefilter {
    filter: Filter,
    texts: Vec<String>,
    similar: SimilarWords,
}

impl Prefilter {
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the lists are too long, a date is invalid, or a word allows more than two edits.
    pub(super) fn new(condition: &Condition) -> Result<Self> {
        let mut room = Room::new();
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

    /// The condition for stores: texts folded, dates in UTC.
    pub(super) fn condition(&self, condition: &Condition) -> Condition {
        Condition { texts: self.texts.clone(), ..self.filter.condition(condition.clone()) }
    }

    /// Whether the entry may match; false only if it certainly does not.
    pub(super) fn lets_pass(&mut self, entry: &Entry) -> bool {
        if !self.filter.accepts(entry) {
            return false;
        }
        if self.texts.is_empty() && self.similar.is_empty() {
            return true;
        }
        let line = entry.line();
        // Another program may have escaped characters that this one writes literally.
        if line.contains("\\u") || line.contains("\\/") {
            return true;
        }
        let line = fold(&line);
        self.texts.iter().all(|text| line.contains(text)) && self.similar.stand_in(entry, &line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::condition::SimilarWord;
    use super::*;

    #[test]
    fn a_condition_is_reduced_to_the_limits_of_every_store() {
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
