//! Collection of search results.

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

/// With this many literal hits, typing errors are not tolerated.
const ENOUGH_LITERAL: usize = 3;

/// Builds the result of a search from entries that are offered newest first. Holds at most twice the requested number
/// of hits.
///
/// A store with entries after another store's, such as a fork, offers its own first and then [adopts](Self::adopt) the
/// other's result of the same search.
pub struct Collector {
    matcher: Matcher,
    limit: usize,
    /// The time limit.
    deadline: Option<Instant>,
    literal: Hits,
    forgiven: Hits,
    tokens: Tokens,
}

impl Collector {
    /// An empty result.
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

    /// Offers the next older entry. [`ControlFlow::Break`]: older entries cannot change the result.
    pub fn offer(&mut self, entry: Entry) -> ControlFlow<()> {
        match self.matcher.literal(&entry) {
            Some(score) => self.literal.add(Hit { entry, score }, self.limit),
            None => self.forgive(entry),
        }
        self.flow()
    }

    /// Adds the result of an older store for the same search.
    pub fn adopt(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            let list = if hit.score < WORDS { &mut self.forgiven } else { &mut self.literal };
            list.add(hit, self.limit);
        }
    }

    /// The hits: literal ones, newest first; if they are too few, followed by those with typing errors, newest first.
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

    /// Offers an entry in the literal pass of a two-pass search.
    pub(crate) fn offer_literal(&mut self, entry: Entry) -> ControlFlow<()> {
        if let Some(score) = self.matcher.literal(&entry) {
            self.literal.add(Hit { entry, score }, self.limit);
        }
        self.flow()
    }

    /// Offers an entry in the second pass.
    pub(crate) fn offer_forgiving(&mut self, entry: Entry) -> ControlFlow<()> {
        self.forgive(entry);
        if self.forgiven.hits.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Number of hits of both sorts.
    pub(crate) fn hits(&self) -> usize {
        self.literal.hits.len() + self.forgiven.hits.len()
    }

    /// Whether a second pass may add hits.
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

    /// The conditions for [`Store::find`](super::super::Store::find) between these bounds: for literal matches, and for
    /// matches with typing errors.
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

    /// The time limit.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the time limit has passed.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.literal.hits.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Hits with distinct kind and payload.
#[derive(Default)]
struct Hits {
    hits: Vec<Hit>,
    /// Positions in `hits` by the hash of kind and payload, since entries may be long.
    places: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl Hits {
    /// Adds a hit, unless a newer one is equal or there are `limit`.
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
