//! Matching of misspelled words in a single entry.

use super::super::condition::SimilarWord;
use super::super::entry::Entry;
use super::super::fold::fold;
use super::matcher::plain_payload;
use super::tokens::{self, Tokens, bit};

/// Words that must all occur in an entry, exactly or nearly.
pub(crate) struct SimilarWords {
    words: Vec<QueryWord>,
    tokens: Tokens,
}

struct QueryWord {
    /// Case-folded, for comparison with folded lines and words.
    text: String,
    token: String,
    letters: usize,
    set: u64,
    edits: usize,
}

impl SimilarWords {
    pub(crate) fn new(words: &[SimilarWord]) -> Self {
        let wanted = words.iter().map(|SimilarWord { text, edits }| {
            let token: String = text.chars().map(tokens::fold).collect();
            QueryWord {
                text: fold(text),
                letters: token.chars().count(),
                set: token.chars().fold(0, |set, letter| set | bit(letter)),
                token,
                edits: usize::from(*edits),
            }
        });
        Self { words: wanted.collect(), tokens: Tokens::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether each occurs in the folded line, or is similar to a word of the payload.
    pub(crate) fn stand_in(&mut self, entry: &Entry, line: &str) -> bool {
        let mut is_filled = false;
        self.words.iter().filter(|word| !line.contains(&word.text)).all(|word| {
            if !is_filled {
                self.tokens.fill(&plain_payload(entry));
                is_filled = true;
            }
            let mut near = self.tokens.near(word.letters, word.set, word.edits);
            near.any(|token| strsim::osa_distance(&word.token, token) <= word.edits)
        })
    }
}
