//! Full-text search of entries.
//!
//! A [`Search`] is what was asked, a [`Matcher`] judges one entry by it, a [`Collector`] makes the answer of entries that
//! come newest first. A store that pages entries shows them to a collector; one that can look before it reads, as files
//! can, asks [`Matcher`] what a line can possibly hold. No store knows the rules:
//!
//! - An entry is found *literally* when every word stands somewhere in its kind, payload, meta or date, in any script,
//!   upper or lower case, also inside a longer word.
//! - Where that finds too little, one is found with *typing errors* forgiven: a word of 4 to 7 letters may differ by one
//!   edit from a word of the payload's strings, a longer one by two. An edit inserts, drops or replaces a letter, or
//!   swaps two neighbours. What holds a digit is forgiven nothing, since another number is another fact, and neither is a
//!   script without spaces, whose words nobody has cut.
//! - Of entries with equal kind and payload only the newest is shown.

mod collector;
mod matcher;
mod raw;
mod similar;
mod spelling;
mod tokens;
mod walk;
mod word;

pub use collector::Collector;
pub use matcher::Matcher;
pub(super) use similar::SimilarWords;
pub(super) use walk::walk;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::entry::Entry;
use super::forgotten::Forgotten;

/// What is looked for, and how much of it. [`Search::default`] wants twenty entries of any kind and date, and has no text
/// yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Words, with white space between them; all must be met. At most 32, of 1,000 characters together.
    pub text: String,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Both ends inclusive. A bare date covers its whole day; without an offset it is UTC.
    pub since: Option<String>,
    /// Upper bound of dates, see `since`.
    pub until: Option<String>,
    /// At most so many hits.
    pub limit: usize,
    /// After so long the search ends with what it has found.
    pub patience: Option<Duration>,
    /// Sections whose superseded versions are skipped, by name, with the first and last id of the current version.
    pub current: BTreeMap<String, (u64, u64)>,
    /// Entries that are passed over.
    pub forgotten: Arc<Forgotten>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            text: String::new(),
            kinds: Vec::new(),
            since: None,
            until: None,
            limit: 20,
            patience: None,
            current: BTreeMap::new(),
            forgotten: Arc::default(),
        }
    }
}

/// An entry that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The entry that matches.
    pub entry: Entry,
    /// How well it fits: 1.0 when the whole text stands there as it was given, but for case and for how wide its white
    /// space is; 0.9 when all its words do; less, and above 0, when typing errors were forgiven: 0.9 without the share of
    /// the letters that were wrong.
    pub score: f64,
}

/// The score of an entry in which the whole text stands.
const PHRASE: f64 = 1.0;

/// The score of an entry in which every word stands, and the bound of what is found by forgiving.
const WORDS: f64 = 0.9;
