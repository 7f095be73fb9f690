//! Records without an id.

use super::entry::{Entry, LONGEST_LINE, line};
use super::error::{Error, Result};
use super::{SESSION_START, date, json};
use std::sync::Arc;

/// A record without an id. Its date is the time of drafting, not of writing: a turn's entries are written together at
/// its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    kind: Arc<str>,
    payload: Arc<str>,
    meta: Arc<str>,
    date: Arc<str>,
}

impl Draft {
    /// A draft with the current date. `payload` and `meta` are JSON objects.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the kind is empty or one of the two is not a JSON object.
    pub fn new(kind: &str, payload: &str, meta: &str) -> Result<Self> {
        if kind.is_empty() {
            return Err(Error::invalid("an entry needs a kind"));
        }
        Ok(Self {
            kind: kind.into(),
            payload: object("payload", payload)?.into(),
            meta: object("meta", meta)?.into(),
            date: date::now().into(),
        })
    }

    /// Replaces the date, for a record that was made earlier.
    pub fn dated(mut self, date: impl Into<Arc<str>>) -> Self {
        self.date = date.into();
        self
    }

    /// Sets `key` in the meta.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if `value` is not JSON.
    pub fn with_meta(mut self, key: &str, value: &str) -> Result<Self> {
        let value = json::normalise(value)?;
        let mut members = self.meta_without(key)?;
        members.push(format!("{}: {value}", json::quote(key)));
        self.meta = format!("{{{}}}", members.join(", ")).into();
        Ok(self)
    }

    /// Removes `key` from the meta.
    ///
    /// # Errors
    ///
    /// None in practice: a draft's meta is an object.
    pub fn without_meta(mut self, key: &str) -> Result<Self> {
        self.meta = format!("{{{}}}", self.meta_without(key)?.join(", ")).into();
        Ok(self)
    }

    fn meta_without(&self, key: &str) -> Result<Vec<String>> {
        let fields = json::fields(&self.meta)?.into_iter().filter(|(name, _)| name != key);
        Ok(fields.map(|(name, value)| format!("{}: {value}", json::quote(&name))).collect())
    }

    /// The kind of the entry.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// A JSON object.
    pub fn payload(&self) -> &str {
        &self.payload
    }

    /// A JSON object.
    pub fn meta(&self) -> &str {
        &self.meta
    }

    /// The date of the entry, RFC 3339.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// An upper bound for the bytes of its line, with the line end, to allocate buffers once.
    pub(super) fn room(&self) -> usize {
        // The frame, an id of up to 20 digits, and kind and date with every character escaped.
        96 + 6 * (self.kind.len() + self.date.len()) + self.payload.len() + self.meta.len()
    }

    /// The line of the entry with that id.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if no tape can hold it.
    pub(super) fn line(&self, id: u64) -> Result<String> {
        let line = line(id, &self.kind, &self.payload, &self.meta, &self.date);
        if line.len() > LONGEST_LINE {
            return Err(Error::invalid(format!("an entry of {} bytes is longer than a line may be", line.len())));
        }
        if line.contains('\n') {
            return Err(Error::invalid("an entry spans lines"));
        }
        Ok(line)
    }

    /// Checks that a tape can hold it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if its line would be too long, or more than one.
    pub fn check_length(&self) -> Result<()> {
        self.line(u64::MAX).map(drop)
    }

    /// The entry with that id.
    pub fn numbered(self, id: u64) -> Entry {
        Entry { id, kind: self.kind, payload: self.payload, meta: self.meta, date: self.date }
    }

    /// For payloads that are known to be objects in the tape's own format.
    fn known(kind: &str, payload: String) -> Self {
        Self { kind: kind.into(), payload: payload.into(), meta: "{}".into(), date: date::now().into() }
    }
}

impl From<Entry> for Draft {
    /// The entry without its id.
    fn from(entry: Entry) -> Self {
        Self { kind: entry.kind, payload: entry.payload, meta: entry.meta, date: entry.date }
    }
}

/// An anchor with a state (any JSON), and its event.
///
/// # Errors
///
/// [`Error::InvalidInput`] if the name is blank or the state is not JSON.
pub fn handoff(name: &str, state: Option<&str>) -> Result<[Draft; 2]> {
    if name.trim().is_empty() {
        return Err(Error::invalid("an anchor needs a name"));
    }
    let state = state.map(json::normalise).transpose()?;
    Ok(anchored(name, state.as_deref()))
}

/// The first entries of every session's tape.
pub fn bootstrap() -> [Draft; 2] {
    anchored(SESSION_START, Some(r#"{"owner": "human"}"#))
}

/// An event with its data (any JSON).
///
/// # Errors
///
/// [`Error::InvalidInput`] if the data is not JSON.
pub fn event(name: &str, data: &str) -> Result<Draft> {
    Ok(happened(name, &json::normalise(data)?))
}

fn anchored(name: &str, state: Option<&str>) -> [Draft; 2] {
    let mut payload = format!(r#"{{"name": {}"#, json::quote(name));
    if let Some(state) = state {
        payload.push_str(r#", "state": "#);
        payload.push_str(state);
    }
    payload.push('}');
    // The anchor first: dates follow the order of ids.
    let anchor = Draft::known("anchor", payload.clone());
    [anchor, happened("handoff", &payload)]
}

fn happened(name: &str, data: &str) -> Draft {
    Draft::known("event", format!(r#"{{"name": {}, "data": {data}}}"#, json::quote(name)))
}

fn object(what: &str, text: &str) -> Result<String> {
    let text = json::normalise(text).map_err(|error| Error::invalid(format!("{what}: {error}")))?;
    if json::is_object(&text) { Ok(text) } else { Err(Error::invalid(format!("{what} is not a JSON object"))) }
}
