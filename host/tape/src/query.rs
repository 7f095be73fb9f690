//! Finding entries.

use jiff::Timestamp;

use super::condition::{Condition, fold};
use super::entry::Entry;
use super::error::{Error, Result};
use super::lookup::Lookup;
use super::reader::Reader;
use super::store::Store;
use super::{date, json};

/// Where the entries that a query looks at begin. Anchors themselves are never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The first entry.
    #[default]
    First,
    /// Behind the newest anchor that is no section's.
    LastAnchor,
    /// Behind the newest anchor of that name, a section's too.
    AfterAnchor(String),
    /// Between the newest anchor of the second name and the newest of the first before it.
    BetweenAnchors(String, String),
    /// After the entry with that id.
    AfterId(u64),
}

/// Which entries are wanted. [`Query::default`] wants all, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Where the result begins.
    pub start: Start,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Only events and anchors of that name.
    pub name: Option<String>,
    /// Stands somewhere in the entry's line, in any script, upper or lower case.
    pub text: Option<String>,
    /// Both ends inclusive. A bare date covers its whole day; without an offset it is UTC.
    pub since: Option<String>,
    /// Upper bound of dates, see `since`.
    pub until: Option<String>,
    /// Whether to return the newest entries first.
    pub newest_first: bool,
    /// The first so many of the result.
    pub limit: Option<usize>,
}

/// How far the answer of a query has been read. It holds no entries: a long tape costs what is read of it.
#[derive(Clone, Debug)]
pub struct Position {
    filter: Filter,
    /// The newest of its sort is what a store finds without looking through the tape.
    lookup: Option<Lookup>,
    reader: Reader,
    left: usize,
}

impl Position {
    /// Finds the anchors of a query, then reads its dates: the order in which Bub complains.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when an anchor is missing, [`Error::InvalidInput`] when a date is none or the first lies
    /// behind the second.
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

    /// The next entries of the answer, at most `max`; empty: the end.
    ///
    /// # Errors
    ///
    /// What the store says.
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
            // A search through a long tape leaves room for others.
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

/// The part of a query that looks at one entry at a time.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    kinds: Vec<String>,
    pub(super) name: Option<String>,
    text: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Filter {
    fn new(query: &Query) -> Result<Self> {
        let mut filter = Self::from_parts(&query.kinds, query.since.as_deref(), query.until.as_deref())?;
        // Escaped like a line, which it is compared with.
        filter.text = query.text.as_deref().map(|text| {
            let quoted = json::quote(text).to_lowercase();
            let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            inside.unwrap_or_default().to_owned()
        });
        filter.name = query.name.clone();
        Ok(filter)
    }

    /// What a store is asked to find, between these bounds.
    pub(super) fn condition(&self, bounds: Condition) -> Condition {
        let date = |date: Option<Timestamp>| date.map(|date| date.to_string());
        Condition {
            kinds: self.kinds.clone(),
            name: self.name.clone(),
            texts: self.text.iter().map(|text| fold(text)).collect(),
            since: date(self.since),
            until: date(self.until),
            ..bounds
        }
    }

    /// What is looked for, when it is one kind or one name and nothing else.
    fn lookup(&self) -> Option<Lookup> {
        let plain = self.text.is_none() && self.since.is_none() && self.until.is_none();
        let [kind] = self.kinds.as_slice() else { return None };
        match &self.name {
            _ if !plain => None,
            Some(name) => Some(Lookup::Named { kind: kind.clone(), name: name.clone() }),
            None => Some(Lookup::Kind(kind.clone())),
        }
    }

    /// Entries of these kinds (empty: all) from one date to another, both inclusive.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when a date is none or the first lies behind the second.
    pub(super) fn from_parts(kinds: &[String], since: Option<&str>, until: Option<&str>) -> Result<Self> {
        let span = |text: Option<&str>| match text {
            None => Ok(None),
            Some(text) => match date::span(text) {
                Some(span) => Ok(Some(span)),
                None => Err(Error::invalid(format!("`{text}` is no ISO date or date and time"))),
            },
        };
        let since = span(since)?.map(|(first, _)| first);
        let until = span(until)?.map(|(_, last)| last);
        if let (Some(since), Some(until)) = (since, until)
            && since > until
        {
            return Err(Error::invalid("the first date lies behind the second"));
        }
        Ok(Self { kinds: kinds.to_vec(), name: None, text: None, since, until })
    }

    pub(super) fn accepts(&self, entry: &Entry) -> bool {
        self.accepts_kind(&entry.kind)
            && self.name.as_ref().is_none_or(|name| entry.name().as_ref() == Some(name))
            && self.accepts_date(&entry.date)
            && self.holds_text(entry)
    }

    pub(super) fn accepts_kind(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind)
    }

    /// An entry whose date cannot be read lies in no span.
    pub(super) fn accepts_date(&self, date: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        date::span(date).is_some_and(|(first, _)| {
            self.since.is_none_or(|since| since <= first) && self.until.is_none_or(|until| first <= until)
        })
    }

    fn holds_text(&self, entry: &Entry) -> bool {
        let Some(text) = &self.text else { return true };
        let mut line = entry.line();
        if line.contains("\\u") {
            // Another program may have escaped what this one writes literally.
            line = json::reprint(&line).unwrap_or(line);
        }
        line.to_lowercase().contains(text)
    }
}
