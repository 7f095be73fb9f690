//! Words of a search, and their distance from an entry.

use super::super::condition::{Condition, SimilarWord};
use super::super::error::Result;
use super::super::fold;
use super::super::json;
use super::spelling::Pattern;
use super::tokens::{Tokens, bit, fold as fold_letter, is_letter};

/// Maximum parts of a word. One with more, such as a path, must match literally.
const MAX_PARTS: usize = 4;

/// One word of the request.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) literal: Pattern,
    pub(super) letters: usize,
    /// Longer words are rarer.
    pub(super) bytes: usize,
    /// The parts without punctuation; empty if it must match literally.
    pieces: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(Pattern),
    Forgiven { folded: String, letters: usize, set: u64, edits: usize },
}

impl Word {
    pub(super) fn new(text: &str) -> Result<Self> {
        let runs = runs(text);
        let mut pieces = Vec::new();
        if may_differ(&runs) {
            pieces = runs.iter().map(|run| Part::new(run)).collect::<Result<_>>()?;
        }
        Ok(Self { literal: Pattern::literal(text)?, letters: text.chars().count(), bytes: text.len(), pieces })
    }

    /// Whether typing errors are tolerated.
    pub(super) fn can_forgive(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The number of edits, at least one, by which the parts differ from words of the entry; `None` if too many.
    /// `stands` tells whether a pattern occurs in the entry.
    pub(super) fn edits(&self, tokens: &Tokens, stands: &mut dyn FnMut(&Pattern) -> bool) -> Option<usize> {
        if self.pieces.is_empty() {
            return None;
        }
        let mut sum = 0;
        for piece in &self.pieces {
            sum += piece.edits(tokens, stands)?;
        }
        // If the parts occur but the word does not, the punctuation differs.
        Some(sum.max(1))
    }
}

impl Part {
    fn new(run: &str) -> Result<Self> {
        let edits = edits(run);
        if edits == 0 {
            return Ok(Self::Literal(Pattern::literal(run)?));
        }
        let folded: String = run.chars().map(fold_letter).collect();
        let set = folded.chars().fold(0, |set, letter| set | bit(letter));
        Ok(Self::Forgiven { letters: folded.chars().count(), folded, set, edits })
    }

    fn edits(&self, tokens: &Tokens, stands: &mut dyn FnMut(&Pattern) -> bool) -> Option<usize> {
        match self {
            Self::Literal(pattern) => stands(pattern).then_some(0),
            Self::Forgiven { folded, letters, set, edits } => {
                let mut least = None;
                for token in tokens.near(*letters, *set, *edits) {
                    let edits_to = strsim::osa_distance(folded, token);
                    if edits_to <= *edits && least.is_none_or(|least| edits_to < least) {
                        least = Some(edits_to);
                    }
                    if edits_to == 0 {
                        break;
                    }
                }
                least
            }
        }
    }
}

/// The word as in a folded line.
pub(super) fn folded(word: &str) -> String {
    let quoted = json::quote(word);
    fold::fold(quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default())
}

/// Adds what every entry that matches the word contains, literally or with typing errors.
pub(super) fn require(word: &str, condition: &mut Condition) {
    let runs = runs(word);
    if !may_differ(&runs) {
        condition.texts.push(folded(word));
        return;
    }
    for run in runs {
        match u8::try_from(edits(run)).unwrap_or_default() {
            0 => condition.texts.push(folded(run)),
            edits => condition.similar.push(SimilarWord { text: run.chars().map(fold_letter).collect(), edits }),
        }
    }
}

/// Whether typing errors are tolerated in a word of these runs.
fn may_differ(runs: &[&str]) -> bool {
    runs.len() <= MAX_PARTS && runs.iter().any(|run| edits(run) > 0)
}

/// Splits a word at punctuation, and where a script without spaces begins or ends.
fn runs(text: &str) -> Vec<&str> {
    let is_mark = |character: char| !is_letter(character) && !character.is_alphanumeric();
    let stretches = text.split(is_mark).filter(|stretch| !stretch.is_empty());
    stretches.flat_map(stretches_of_one_script).collect()
}

fn stretches_of_one_script(mut text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    while let Some(first) = text.chars().next().map(is_letter) {
        let end = text.find(|character| is_letter(character) != first).unwrap_or(text.len());
        let (stretch, rest) = text.split_at(end);
        found.push(stretch);
        text = rest;
    }
    found
}

/// The number of tolerated edits in a run of characters.
fn edits(run: &str) -> usize {
    if run.chars().any(|character| !is_letter(character) || character.is_numeric()) {
        return 0;
    }
    match run.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}
