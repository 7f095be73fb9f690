//! Full-text search of entries.
//!
//! A [`Search`] is the request, a [`Matcher`] evaluates one entry, a [`Collector`] builds the result from entries,
//! newest first. A store that pages entries offers them to a collector; one that can examine raw lines, as files can,
//! prefilters them with [`Matcher`]. The rules are independent of the store:
//!
//! - An entry matches *literally* if every word occurs in its kind, payload, meta or date, in any script, ignoring
//!   case, also inside a longer word.
//! - If there are too few literal matches, *typing errors* are tolerated: a word of 4 to 7 letters may differ by one
//!   edit from a word of the payload's strings, a longer one by two. An edit inserts, drops or replaces a letter, or
//!   swaps two neighbours. Words with a digit must match literally, since another number is another fact, and so must
//!   words of scripts without spaces, in which words cannot be separated.
//! - Of entries with equal kind and payload only the newest is returned.

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

/// A search request. [`Search::default`] selects twenty entries of any kind and date, and has no text yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Words separated by white space; all must match. At most 32, of 1,000 characters in total.
    pub text: String,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Lower bound of dates. Bounds are inclusive; a date covers its whole day, and without an offset it is UTC.
    pub since: Option<String>,
    /// Upper bound of dates, see `since`.
    pub until: Option<String>,
    /// Maximum number of hits.
    pub limit: usize,
    /// Time limit, after which the search returns what it has found.
    pub patience: Option<Duration>,
    /// Sections whose superseded versions are skipped, by name, with the first and last id of the current version.
    pub current: BTreeMap<String, (u64, u64)>,
    /// Entries that are skipped.
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
    /// 1.0 if the whole text occurs, ignoring case and the amount of white space; 0.9 if all words do; between 0 and
    /// 0.9 with typing errors: 0.9 times the share of correct letters.
    pub score: f64,
}

/// The score if the whole text occurs.
const PHRASE: f64 = 1.0;

/// The score if every word occurs, and the upper bound with typing errors.
const WORDS: f64 = 0.9;
