//! The part of a query that applies to single entries.

use super::condition::Condition;
use super::entry::Entry;
use super::error::{Error, Result};
use super::fold::fold;
use super::lookup::Lookup;
use super::query::Query;
use super::{date, json};
use jiff::Timestamp;

/// The part of a query that applies to single entries.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    kinds: Vec<String>,
    pub(super) name: Option<String>,
    text: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Filter {
    pub(super) fn new(query: &Query) -> Result<Self> {
        let mut filter = Self::from_parts(&query.kinds, query.since.as_deref(), query.until.as_deref())?;
        // Escaped as in a line, with which it is compared.
        filter.text = query.text.as_deref().map(|text| {
            let quoted = json::quote(text).to_lowercase();
            let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            inside.unwrap_or_default().to_owned()
        });
        filter.name = query.name.clone();
        Ok(filter)
    }

    /// The condition for [`Store::find`](super::Store::find) between these bounds.
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

    /// The equivalent lookup, if the filter is only one kind or one name.
    pub(super) fn lookup(&self) -> Option<Lookup> {
        let plain = self.text.is_none() && self.since.is_none() && self.until.is_none();
        let [kind] = self.kinds.as_slice() else { return None };
        match &self.name {
            _ if !plain => None,
            Some(name) => Some(Lookup::Named { kind: kind.clone(), name: name.clone() }),
            None => Some(Lookup::Kind(kind.clone())),
        }
    }

    /// A filter for these kinds (empty: all) between two dates, both inclusive.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if a date is invalid or the first is after the second.
    pub(super) fn from_parts(kinds: &[String], since: Option<&str>, until: Option<&str>) -> Result<Self> {
        let span = |text: Option<&str>| match text {
            None => Ok(None),
            Some(text) => match date::span(text) {
                Some(span) => Ok(Some(span)),
                None => Err(Error::invalid(format!("`{text}` is not an ISO date or date and time"))),
            },
        };
        let since = span(since)?.map(|(first, _)| first);
        let until = span(until)?.map(|(_, last)| last);
        if let (Some(since), Some(until)) = (since, until)
            && since > until
        {
            return Err(Error::invalid("the first date is after the second"));
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

    /// An entry with an invalid date is in no range.
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
            // Another program may have escaped characters that this one writes literally.
            line = json::reprint(&line).unwrap_or(line);
        }
        line.to_lowercase().contains(text)
    }
}
