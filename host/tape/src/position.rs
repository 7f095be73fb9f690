//! Incremental reading of a query's results.

use super::condition::Condition;
use super::entry::Entry;
use super::error::{Error, Result};
use super::filter::Filter;
use super::lookup::Lookup;
use super::query::{Query, Start};
use super::reader::Reader;
use super::store::Store;

/// The position in the results of a query. It holds no entries, so memory is bounded.
#[derive(Clone, Debug)]
pub struct Position {
    filter: Filter,
    /// Set if the store can find the newest match without scanning.
    lookup: Option<Lookup>,
    reader: Reader,
    left: usize,
}

impl Position {
    /// Resolves the anchors of a query, then parses its dates: the order of Bub's errors.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if an anchor is missing, [`Error::InvalidInput`] if a date is invalid or the first is after
    /// the second.
    pub async fn new<S: Store + ?Sized>(store: &S, tape: &str, query: &Query) -> Result<Self> {
        let (after, before) = match &query.start {
            Start::First => (0, None),
            Start::AfterId(id) => (*id, None),
            Start::LastAnchor => {
                let anchor = store.newest(tape, &Lookup::Phase, None).await?;
                let missing = || Error::NotFound("there is no anchor on the tape".to_owned());
                (anchor.ok_or_else(missing)?.id, None)
            }
            Start::AfterAnchor(name) => (named(store, tape, name, None).await?, None),
            Start::BetweenAnchors(first, second) => {
                let end = named(store, tape, second, None).await?;
                (named(store, tape, first, Some(end)).await?, Some(end))
            }
        };
        let filter = Filter::new(query)?;
        let lookup = filter.lookup().filter(|_| query.newest_first);
        let bounds = Condition { after, before, newest_first: query.newest_first, ..Condition::default() };
        let reader = Reader::new(filter.condition(bounds));
        Ok(Self { filter, lookup, reader, left: query.limit.unwrap_or(usize::MAX) })
    }

    /// The next results, at most `max`; empty at the end.
    ///
    /// # Errors
    ///
    /// The store's error.
    pub async fn next<S: Store + ?Sized>(&mut self, store: &S, tape: &str, max: usize) -> Result<Vec<Entry>> {
        let wanted = max.min(self.left);
        if wanted == 1
            && let Some(lookup) = &self.lookup
        {
            let (after, before) = self.reader.bounds();
            let newest = store.newest(tape, lookup, before).await?.filter(|entry| entry.id > after);
            self.left = if newest.is_some() { self.left - 1 } else { 0 };
            newest.iter().for_each(|entry| self.reader.pass(entry.id));
            return Ok(newest.into_iter().collect());
        }
        let mut found = Vec::new();
        'all: while found.len() < wanted && !self.reader.is_done() {
            let step = self.reader.step(store, tape, wanted - found.len()).await?;
            for entry in step.entries {
                if found.len() == wanted {
                    break 'all;
                }
                self.reader.pass(entry.id);
                if self.filter.accepts(&entry) {
                    self.reader.accept();
                    found.push(entry);
                }
            }
            if !self.reader.go_on(step.next) {
                break;
            }
            // Let other tasks run during a long search.
            tokio::task::yield_now().await;
        }
        self.left -= found.len();
        Ok(found)
    }
}

/// The id of the newest anchor of that name.
async fn named<S: Store + ?Sized>(store: &S, tape: &str, name: &str, before: Option<u64>) -> Result<u64> {
    match store.newest(tape, &Lookup::anchor(name), before).await? {
        Some(anchor) => Ok(anchor.id),
        None => Err(Error::NotFound(format!("there is no anchor `{name}`"))),
    }
}
