//! The answer of a search, as it grows.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::time::Instant;

use super::super::condition::Condition;
use super::super::entry::Entry;
use super::super::error::Result;
use super::matcher::Matcher;
use super::tokens::Tokens;
use super::{Hit, Search, WORDS, word};

/// With so many literal hits, nothing is forgiven.
const ENOUGH_LITERAL: usize = 3;

/// Makes the answer of a search from entries that are shown to it, newest first. It keeps no more than twice the hits
/// that were asked for.
///
/// A store that has entries in front of another's, as a fork does, shows its own first and then
/// [adopts](Self::adopt) what the other one answers to the same search.
pub struct Collector {
    matcher: Matcher,
    limit: usize,
    /// Nothing is looked at behind it.
    deadline: Option<Instant>,
    literal: Hits,
    forgiven: Hits,
    tokens: Tokens,
}

impl Collector {
    /// An answer without hits.
    ///
    /// # Errors
    ///
    /// Those of [`Matcher::new`].
    pub fn new(search: &Search) -> Result<Self> {
        Ok(Self {
            matcher: Matcher::new(search)?,
            limit: search.limit,
            deadline: search.patience.map(|patience| Instant::now() + patience),
            literal: Hits::default(),
            forgiven: Hits::default(),
            tokens: Tokens::default(),
        })
    }

    /// Looks at the next older entry. [`ControlFlow::Break`]: what is older changes nothing.
    pub fn offer(&mut self, entry: Entry) -> ControlFlow<()> {
        match self.matcher.literal(&entry) {
            Some(score) => self.literal.add(Hit { entry, score }, self.limit),
            None => self.forgive(entry),
        }
        self.flow()
    }

    /// Takes the answer that an older store gave to the same search.
    pub fn adopt(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            let list = if hit.score < WORDS { &mut self.forgiven } else { &mut self.literal };
            list.add(hit, self.limit);
        }
    }

    /// The hits: literal ones first, newest first, and behind them, where they are too few, those with typing errors,
    /// newest first.
    pub fn finish(self) -> Vec<Hit> {
        let forgives = self.wants_more();
        let mut literal = self.literal;
        if forgives {
            for hit in self.forgiven.hits {
                literal.add(hit, self.limit);
            }
        }
        literal.hits
    }

    /// Looks at an entry of the literal pass of a store that makes two.
    pub(crate) fn offer_literal(&mut self, entry: Entry) -> ControlFlow<()> {
        if let Some(score) = self.matcher.literal(&entry) {
            self.literal.add(Hit { entry, score }, self.limit);
        }
        self.flow()
    }

    /// Looks at an entry of the second of two passes.
    pub(crate) fn offer_forgiving(&mut self, entry: Entry) -> ControlFlow<()> {
        self.forgive(entry);
        if self.forgiven.hits.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// How many hits there are, of both sorts.
    pub(crate) fn hits(&self) -> usize {
        self.literal.hits.len() + self.forgiven.hits.len()
    }

    /// Whether a second pass can add anything to the first.
    pub(crate) fn wants_more(&self) -> bool {
        self.literal.hits.len() < self.limit.min(ENOUGH_LITERAL) && self.matcher.can_forgive()
    }

    /// [`Matcher::may_be_literal`].
    pub(crate) fn may_be_literal(&self, line: &[u8]) -> bool {
        self.matcher.may_be_literal(line)
    }

    /// [`Matcher::may_be_forgiven`].
    pub(crate) fn may_be_forgiven(&mut self, line: &[u8]) -> bool {
        self.matcher.may_be_forgiven(line, &mut self.tokens)
    }

    /// What a store is asked to find, between these bounds: what is met literally, and what is met when typing errors are
    /// forgiven.
    pub(crate) fn conditions(&self, search: &Search, bounds: &Condition) -> [Condition; 2] {
        let all = self.matcher.filter.condition(bounds.clone());
        let texts = search.text.split_whitespace().map(word::folded).collect();
        let mut forgiving = all.clone();
        for word in search.text.split_whitespace() {
            word::require(word, &mut forgiving);
        }
        [Condition { texts, ..all }, forgiving]
    }

    fn forgive(&mut self, entry: Entry) {
        if self.forgiven.hits.len() < self.limit
            && self.wants_more()
            && let Some(score) = self.matcher.forgiving_with(&entry, &mut self.tokens)
        {
            self.forgiven.add(Hit { entry, score }, self.limit);
        }
    }

    /// When the time is over that the search was given.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the time is over that the search was given.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.literal.hits.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Hits of which no two have the same kind and payload.
#[derive(Default)]
struct Hits {
    hits: Vec<Hit>,
    /// Places in `hits` by the hash of kind and payload: entries may be long, and are not kept twice.
    places: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl Hits {
    /// Adds a hit, unless a newer one says the same or there are `limit`.
    fn add(&mut self, hit: Hit, limit: usize) {
        fn content(entry: &Entry) -> (&str, &str) {
            (&entry.kind, &entry.payload)
        }
        let places = self.places.entry(self.hasher.hash_one(content(&hit.entry))).or_default();
        let mut alike = places.iter().filter_map(|place| self.hits.get(*place));
        let is_known = alike.any(|known| content(&known.entry) == content(&hit.entry));
        if self.hits.len() < limit && !is_known {
            places.push(self.hits.len());
            self.hits.push(hit);
        }
    }
}
