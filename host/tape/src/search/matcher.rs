//! Evaluation of a search for one entry.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::entry::Entry;
use super::super::error::{Error, Result};
use super::super::filter::Filter;
use super::super::forgotten::Forgotten;
use super::super::json;
use super::super::media::without_data;
use super::spelling::{Pattern, plain};
use super::tokens::Tokens;
use super::word::Word;
use super::{PHRASE, Search, WORDS};

/// Each word costs a pass over every entry.
const MOST_WORDS: usize = 32;
const MOST_CHARACTERS: usize = 1000;

/// Evaluates entries for a [`Search`].
#[derive(Clone, Debug)]
pub struct Matcher {
    pub(super) filter: Filter,
    /// Longest first, since they are rarest.
    pub(super) words: Vec<Word>,
    /// The whole text; `None` if it is one word.
    phrase: Option<Pattern>,
    letters: usize,
    current: BTreeMap<String, (u64, u64)>,
    forgotten: Arc<Forgotten>,
}

impl Matcher {
    /// Compiles a search.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the text is empty or too long, a date is invalid, or the first is after the second.
    pub fn new(search: &Search) -> Result<Self> {
        let words: Vec<&str> = search.text.split_whitespace().collect();
        if words.is_empty() {
            return Err(Error::invalid("there is nothing to search for: give at least one word"));
        }
        if words.len() > MOST_WORDS {
            let given = words.len();
            return Err(Error::invalid(format!("a search takes at most {MOST_WORDS} words, not {given}: give fewer")));
        }
        if words.iter().map(|word| word.chars().count()).sum::<usize>() > MOST_CHARACTERS {
            let message = format!("a search takes at most {MOST_CHARACTERS} characters: give fewer or shorter words");
            return Err(Error::invalid(message));
        }
        let filter = Filter::from_parts(&search.kinds, search.since.as_deref(), search.until.as_deref())?;
        let phrase = if words.len() > 1 { Some(Pattern::phrase(&words)?) } else { None };
        let mut words = words.into_iter().map(Word::new).collect::<Result<Vec<Word>>>()?;
        words.sort_by_key(|word| std::cmp::Reverse(word.bytes));
        let letters = words.iter().map(|word| word.letters).sum();
        Ok(Self {
            filter,
            words,
            phrase,
            letters,
            current: search.current.clone(),
            forgotten: Arc::clone(&search.forgotten),
        })
    }

    /// The score of a literal match: 1.0 or 0.9.
    pub fn literal(&self, entry: &Entry) -> Option<f64> {
        if !self.accepts(entry) {
            return None;
        }
        let pieces = EntryFields::new(entry);
        if !self.words.iter().all(|word| pieces.hold(&word.literal)) {
            return None;
        }
        let whole = self.phrase.as_ref().is_none_or(|phrase| pieces.hold(phrase));
        Some(if whole { PHRASE } else { WORDS })
    }

    /// The score, below 0.9, of a match with typing errors; `None` also for a literal match.
    pub fn forgiving(&self, entry: &Entry) -> Option<f64> {
        self.forgiving_with(entry, &mut Tokens::default())
    }

    pub(super) fn forgiving_with(&self, entry: &Entry, tokens: &mut Tokens) -> Option<f64> {
        if !self.can_forgive() || !self.accepts(entry) {
            return None;
        }
        let pieces = EntryFields::new(entry);
        let edits = self.edits(&pieces.payload, tokens, &mut |pattern| pieces.hold(pattern))?;
        if edits == 0 {
            return None;
        }
        // Exact: both are far below 2^52.
        let wrong = edits as f64 / self.letters as f64;
        Some(WORDS * (1.0 - wrong))
    }

    /// Whether kind and date match, and the entry is not in a superseded version of a section.
    fn accepts(&self, entry: &Entry) -> bool {
        let is_past = || {
            let current = entry.section_name().and_then(|section| self.current.get(&section));
            current.is_some_and(|(first, last)| !(*first..=*last).contains(&entry.id))
        };
        self.filter.accepts(entry)
            && (self.current.is_empty() || !is_past())
            && (self.forgotten.is_empty() || !self.forgotten.holds(entry))
    }

    /// Whether [`forgiving`](Self::forgiving) can find anything.
    pub(super) fn can_forgive(&self) -> bool {
        self.words.iter().any(Word::can_forgive)
    }

    /// The number of edits by which the words differ from those of a JSON text.
    pub(super) fn edits(
        &self,
        json: &str,
        tokens: &mut Tokens,
        stands: &mut dyn FnMut(&Pattern) -> bool,
    ) -> Option<usize> {
        // Words that must match literally are cheapest to check and rarest.
        let mut unforgiven = self.words.iter().filter(|word| !word.can_forgive());
        if !unforgiven.all(|word| stands(&word.literal)) {
            return None;
        }
        let mut filled = false;
        let mut sum = 0;
        for word in self.words.iter().filter(|word| word.can_forgive()) {
            if stands(&word.literal) {
                continue;
            }
            if !filled {
                tokens.fill(json);
                filled = true;
            }
            sum += word.edits(tokens, stands)?;
        }
        Some(sum)
    }
}

/// The searched fields of an entry, as JSON.
struct EntryFields<'e> {
    kind: String,
    payload: Cow<'e, str>,
    meta: Cow<'e, str>,
    date: String,
}

impl<'e> EntryFields<'e> {
    fn new(entry: &'e Entry) -> Self {
        Self {
            kind: json::quote(&entry.kind),
            payload: plain_payload(entry),
            // An entry without meta has an empty one, a line has none.
            meta: if *entry.meta == *"{}" { Cow::Borrowed("") } else { plain(&entry.meta) },
            date: json::quote(&entry.date),
        }
    }

    fn hold(&self, pattern: &Pattern) -> bool {
        [&*self.payload, &*self.meta, &self.kind, &self.date].into_iter().any(|piece| pattern.stands_in(piece))
    }
}

/// The payload without the data of media.
pub(super) fn plain_payload(entry: &Entry) -> Cow<'_, str> {
    if !entry.is("message") {
        return plain(&entry.payload);
    }
    match without_data(&entry.payload) {
        Cow::Borrowed(payload) => plain(payload),
        Cow::Owned(payload) => Cow::Owned(plain(&payload).into_owned()),
    }
}
