//! One immutable record on a tape.

use super::{date, ids, json};
use std::sync::Arc;

/// Maximum length of a line in bytes, for reading and for writing in every store, so that each tape can be stored as a
/// file. A longer line counts as unreadable, so that a file without line ends does not exhaust the memory.
pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The section for memory; guests' searches skip its superseded versions.
pub const MEMORY: &str = "memory";

/// The key in an anchor's meta, and the event, that identify the tape's session.
pub const SESSION_MARK: &str = "session";

/// A record of a tape. Its payload and meta are JSON texts, byte for byte as on the tape. Immutable; cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Position on the tape, from 1. Entries from a [`Store`](super::Store) have increasing ids; a line that was parsed
    /// by itself has the id that is written on it.
    pub id: u64,
    /// `message`, `system`, `anchor`, `tool_call`, `tool_result`, `error`, `event`; others are kept and ignored.
    pub kind: Arc<str>,
    /// A JSON object.
    pub payload: Arc<str>,
    /// A JSON object about the record: `run_id`, `plugin`, `context`, `section`.
    pub meta: Arc<str>,
    /// The date, ISO 8601; UTC in everything that this program writes.
    pub date: Arc<str>,
}

impl Entry {
    /// The record as a line of a tape, without the line end. A line that Bub or this program wrote is reproduced byte
    /// for byte.
    pub fn line(&self) -> String {
        line(self.id, &self.kind, &self.payload, &self.meta, &self.date)
    }

    /// Parses a line as leniently as Bub does, also after a byte order mark. `None` if it is not a JSON object, or its
    /// id is not a whole number, its kind not a string, or its payload not an object. An id out of range is clamped. A
    /// meta that is not an object counts as empty; a missing date is taken from `timestamp`, as in older tapes.
    pub fn parse(line: &str) -> Option<Self> {
        let keys = ["id", "kind", "payload", "meta", "date", "timestamp"];
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let [id, kind, payload, meta, date, timestamp] = json::pick(line, keys);
        let id = ids::parse(id?)?;
        let kind = json::string(kind?)?;
        let payload = payload.filter(|value| json::is_object(value))?;
        let meta = meta.filter(|value| json::is_object(value)).unwrap_or("{}");
        let date = date.and_then(json::string).unwrap_or_else(|| {
            let seconds = timestamp.and_then(|value| value.parse().ok());
            date::from_seconds(seconds.unwrap_or(0.0))
        });
        Some(Self { id, kind: kind.into(), payload: piece(payload)?, meta: piece(meta)?, date: date.into() })
    }

    /// Whether it is of that kind.
    pub fn is(&self, kind: &str) -> bool {
        *self.kind == *kind
    }

    /// The name of an event or an anchor; `None` without one, and for other kinds.
    pub fn name(&self) -> Option<String> {
        if !matches!(&*self.kind, "event" | "anchor") {
            return None;
        }
        json::get(&self.payload, "name").and_then(json::string)
    }

    /// The name of an event; `None` for other kinds.
    pub fn event_name(&self) -> Option<String> {
        self.name().filter(|_| self.is("event"))
    }

    /// The name of an anchor, if it has one.
    pub fn anchor_name(&self) -> Option<String> {
        self.name().filter(|_| self.is("anchor"))
    }

    /// Whether this anchor opens or closes a plugin's section instead of beginning a phase. Tapes from before the mark
    /// identify section anchors by two names.
    pub fn is_section_anchor(&self) -> bool {
        if !self.is("anchor") {
            return false;
        }
        json::get(&self.meta, "zone") == Some("true")
            || matches!(self.anchor_name().as_deref(), Some("memory/open" | "memory/seal"))
    }

    /// The name of the section of this anchor or event. Events of a memory written before the mark are recognized by
    /// their names.
    pub fn section_name(&self) -> Option<String> {
        match &*self.kind {
            "anchor" if self.is_section_anchor() => Some(self.anchor_name()?.rsplit_once('/')?.0.to_owned()),
            "event" if json::get(&self.meta, "zone") == Some("true") => {
                Some(self.event_name()?.split_once('.')?.0.to_owned())
            }
            // Parsing a payload costs more than a substring search.
            "event" if self.payload.contains("\"memory.") => {
                let name = self.event_name()?;
                matches!(name.as_str(), "memory.long_term" | "memory.daily").then(|| MEMORY.to_owned())
            }
            _ => None,
        }
    }

    /// Whether a view may begin here: an anchor that is not a section's.
    pub fn begins_phase(&self) -> bool {
        self.is("anchor") && !self.is_section_anchor()
    }

    /// Whether the model may see the record: unless its meta has `"context": false`.
    pub fn in_context(&self) -> bool {
        json::get(&self.meta, "context") != Some("false")
    }
}

/// The line of an entry.
pub(super) fn line(id: u64, kind: &str, payload: &str, meta: &str, date: &str) -> String {
    let mut text = String::with_capacity(payload.len() + meta.len() + 128);
    push_line(&mut text, id, kind, payload, meta, date);
    text
}

/// Appends the line of an entry to `text`.
pub(super) fn push_line(text: &mut String, id: u64, kind: &str, payload: &str, meta: &str, date: &str) {
    let (id, kind, date) = (id.to_string(), json::quote(kind), json::quote(date));
    let pieces = [
        "{\"id\": ",
        &id,
        ", \"kind\": ",
        &kind,
        ", \"payload\": ",
        payload,
        ", \"meta\": ",
        meta,
        ", \"date\": ",
        &date,
    ];
    pieces.iter().for_each(|piece| text.push_str(piece));
    text.push('}');
}

/// The JSON text of a value, unless it contains line breaks, which entries cannot.
fn piece(value: &str) -> Option<Arc<str>> {
    if value.contains('\n') { json::reprint(value).ok().map(Arc::from) } else { Some(value.into()) }
}
