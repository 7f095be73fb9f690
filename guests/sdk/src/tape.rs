//! Tapes: the entries of a session, of a workspace, and of a plugin's own sidecars.

use crate::grant::{MayWrite, TapeReset};
use crate::{Result, backend};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::wit::bub::tape::entries::{Draft, Entry, Forgotten, Hit, Info, Query, Search, Start};

/// A tape.
#[derive(Debug)]
pub struct Tape(pub(crate) backend::Tape);

/// The hits of a query, read page by page.
#[derive(Debug)]
pub struct Cursor(backend::Cursor);

/// A tape to write to.
#[derive(Debug)]
pub struct Writer<'a>(&'a Tape);

impl Tape {
    /// Its name.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Its length, its anchors, and what the last model call used.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn info(&self) -> Result<Info> {
        self.0.info()
    }

    /// The entries that meet a condition.
    ///
    /// # Errors
    ///
    /// `not-found`, if an anchor that it names does not exist.
    pub fn query(&self, query: &Query) -> Result<Cursor> {
        self.0.query(query).map(Cursor)
    }

    /// The entries in which words stand, the best hits first.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if a date is none.
    pub fn search(&self, search: &Search) -> Result<Vec<Hit>> {
        self.0.search(search)
    }

    /// The last entries before an id, in the order in which they were written.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>> {
        self.0.tail(before, max)
    }

    /// The newest anchor, of that name if one is given, before an id.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn last_anchor(&self, name: Option<&str>, before: Option<u64>) -> Result<Option<Entry>> {
        self.0.last_anchor(name, before)
    }

    /// The section of that plugin with the highest version.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn section(&self, name: &str) -> Result<Vec<Entry>> {
        self.0.section(name)
    }

    /// A copy whose writes reach this tape once it is merged.
    ///
    /// # Errors
    ///
    /// `denied`, if it is nested too deeply.
    pub fn fork(&self) -> Result<Tape> {
        self.0.fork().map(Tape)
    }

    /// Writes what was written to this fork to the tape that it was made of.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is no fork.
    pub fn merge(&self) -> Result<()> {
        self.0.merge()
    }

    /// Empties the tape; with `archive` its entries are kept under the name that is returned.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn reset(&self, _: TapeReset, archive: bool) -> Result<Option<String>> {
        self.0.reset(archive)
    }

    /// Opens a tape of the plugin's own beside this one: `notes` or `notes.NAME` for the plugin `notes`.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant or with another name.
    pub fn sidecar(&self, _: impl MayWrite, name: &str) -> Result<Tape> {
        self.0.sidecar(name).map(Tape)
    }

    /// The same tape, to write to.
    pub fn writer(&self, _: impl MayWrite) -> Writer<'_> {
        Writer(self)
    }
}

impl Writer<'_> {
    /// Writes entries at once, and returns the id of the first; the others follow it.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant; `invalid-input`, if a draft is not an entry.
    pub fn append(&self, drafts: &[Draft]) -> Result<u64> {
        self.0.0.append(drafts)
    }

    /// Writes entries immediately instead of with the turn, if `last` is still the id of the tape's last entry.
    ///
    /// # Errors
    ///
    /// `conflict`, if it is not.
    pub fn append_if(&self, last: u64, drafts: &[Draft]) -> Result<u64> {
        self.0.0.append_if(last, drafts)
    }

    /// Writes an anchor with a state and the event `handoff`, and returns the anchor's id.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub fn handoff<T: Serialize>(&self, name: &str, state: &T) -> Result<u64> {
        self.0.0.handoff(name, Some(&serde_json::to_string(state)?))
    }

    /// Hides texts from every view and search, for the owner; `dry_run` only counts.
    ///
    /// # Errors
    ///
    /// `denied`, outside of a tool or of a turn of the owner.
    pub fn forget(&self, texts: &[String], dry_run: bool) -> Result<Forgotten> {
        self.0.0.forget(texts, dry_run)
    }
}

impl Cursor {
    /// The next entries, at most 256; none at the end.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn next(&self, max: u32) -> Result<Vec<Entry>> {
        self.0.next(max)
    }
}

impl Entry {
    /// The payload read from JSON.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.payload)?)
    }

    /// The payload; null where it is none.
    pub fn json(&self) -> Value {
        self.read().unwrap_or_default()
    }

    /// Whether this is an event of that name.
    pub fn is_event(&self, name: &str) -> bool {
        self.kind == "event" && self.read::<Name>().is_ok_and(|event| event.name == name)
    }
}

/// The name in the payload of an event or an anchor.
#[derive(Deserialize)]
struct Name {
    name: String,
}

/// The payload of an event.
#[derive(Serialize)]
struct Event<'a, T> {
    name: &'a str,
    data: &'a T,
}

impl Draft {
    /// An entry of that kind, without meta. A payload that has no JSON is null.
    pub fn new<T: Serialize>(kind: impl Into<String>, payload: &T) -> Self {
        let payload = serde_json::to_string(payload).unwrap_or_else(|_| "null".to_owned());
        Self { kind: kind.into(), payload, meta: "{}".to_owned() }
    }

    /// An event.
    pub fn event<T: Serialize>(name: &str, data: &T) -> Self {
        Self::new("event", &Event { name, data })
    }
}

impl Default for Query {
    /// All entries, from the first.
    fn default() -> Self {
        Self {
            start: Start::First,
            kinds: Vec::new(),
            name: None,
            text: None,
            since: None,
            until: None,
            newest_first: false,
            limit: None,
        }
    }
}

impl Default for Search {
    /// At most 20 entries of any kind.
    fn default() -> Self {
        Self { text: String::new(), kinds: Vec::new(), since: None, until: None, limit: 20, patience: None }
    }
}
