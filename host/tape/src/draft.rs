//! A record that no tape has numbered yet.

use super::entry::{Entry, LONGEST_LINE, line};
use super::error::{Error, Result};
use super::{SESSION_START, date, json};
use std::sync::Arc;

/// A record without an id. It has its date from the moment it was drafted, not from when it reached the file: a turn's
/// entries are written together at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    kind: Arc<str>,
    payload: Arc<str>,
    meta: Arc<str>,
    date: Arc<str>,
}

impl Draft {
    /// A draft of this moment. `payload` and `meta` are JSON objects in any spelling.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when the kind is empty or one of the two is no JSON object.
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

    /// The same with another date, for a record that was made earlier.
    pub fn dated(mut self, date: impl Into<Arc<str>>) -> Self {
        self.date = date.into();
        self
    }

    /// The same with `key` in its meta, in place of whatever stood there under that name.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when `value` is no JSON.
    pub fn with_meta(mut self, key: &str, value: &str) -> Result<Self> {
        let value = json::normalise(value)?;
        let mut members = self.meta_without(key)?;
        members.push(format!("{}: {value}", json::quote(key)));
        self.meta = format!("{{{}}}", members.join(", ")).into();
        Ok(self)
    }

    /// The same without `key` in its meta.
    ///
    /// # Errors
    ///
    /// None: a draft's meta is an object.
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

    /// Bytes that its line takes at most, with the line's end: so that what is made of many of them need not grow.
    pub(super) fn room(&self) -> usize {
        // The frame, an id of up to 20 digits, and a kind and a date that may have to be escaped.
        96 + 6 * (self.kind.len() + self.date.len()) + self.payload.len() + self.meta.len()
    }

    /// The line of the entry that this becomes under `id`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] when no tape could hold it.
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

    /// The entry that this becomes under `id`.
    pub fn numbered(self, id: u64) -> Entry {
        Entry { id, kind: self.kind, payload: self.payload, meta: self.meta, date: self.date }
    }

    /// For payloads that are known to be objects in the tape's own spelling.
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

/// An anchor with a state (any JSON), and the event that says so.
///
/// # Errors
///
/// [`Error::InvalidInput`] when the name is blank or the state no JSON.
pub fn handoff(name: &str, state: Option<&str>) -> Result<[Draft; 2]> {
    if name.trim().is_empty() {
        return Err(Error::invalid("an anchor needs a name"));
    }
    let state = state.map(json::normalise).transpose()?;
    Ok(anchored(name, state.as_deref()))
}

/// What every session's tape begins with.
pub fn bootstrap() -> [Draft; 2] {
    anchored(SESSION_START, Some(r#"{"owner": "human"}"#))
}

/// An event with its data (any JSON).
///
/// # Errors
///
/// [`Error::InvalidInput`] when the data is no JSON.
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
    // The anchor first: their dates are in the order of their ids.
    let anchor = Draft::known("anchor", payload.clone());
    [anchor, happened("handoff", &payload)]
}

fn happened(name: &str, data: &str) -> Draft {
    Draft::known("event", format!(r#"{{"name": {}, "data": {data}}}"#, json::quote(name)))
}

fn object(what: &str, text: &str) -> Result<String> {
    let text = json::normalise(text).map_err(|error| Error::invalid(format!("{what}: {error}")))?;
    if json::is_object(&text) { Ok(text) } else { Err(Error::invalid(format!("{what} is no JSON object"))) }
}
