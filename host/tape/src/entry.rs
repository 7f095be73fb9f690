//! One immutable record on a tape.

use super::{date, ids, json};
use std::sync::Arc;

/// The longest line that is read, in bytes, and the longest that is written, in every store, so that each tape can be a
/// file. A longer one counts as unreadable, so that a file without an end of line does not fill the memory.
pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The section of memory; searches of guests skip its superseded versions.
pub const MEMORY: &str = "memory";

/// The key in an anchor's meta, and the event, that say whose tape it is.
pub const SESSION_MARK: &str = "session";

/// A record of a tape. Its payload and meta are JSON texts, byte for byte as on the tape. Immutable; cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place on the tape, from 1. Entries that a [`Store`](super::Store) hands out have ids that grow; a line that was
    /// read by itself says what its writer said.
    pub id: u64,
    /// `message`, `system`, `anchor`, `tool_call`, `tool_result`, `error`, `event`; others are kept and ignored.
    pub kind: Arc<str>,
    /// A JSON object.
    pub payload: Arc<str>,
    /// A JSON object about the record: `run_id`, `plugin`, `context`, `section`.
    pub meta: Arc<str>,
    /// When it was made, ISO 8601; UTC in all that this program writes.
    pub date: Arc<str>,
}

impl Entry {
    /// The record as a line of a tape, without the line's end. A line that Bub or this program wrote comes back byte
    /// for byte.
    pub fn line(&self) -> String {
        line(self.id, &self.kind, &self.payload, &self.meta, &self.date)
    }

    /// Reads a line as leniently as Bub does, and behind a byte order mark too, which editors leave at a file's beginning
    /// (and joined files in their middle): `None` when it is no JSON object, or its id no whole number, its kind no
    /// text, its payload no object. A number that no id can be counts as 0 or as the greatest. A meta that is no object counts as empty; the date may come from an older tape's
    /// `timestamp`.
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

    /// The name of an event or an anchor; none where it has none, and for other kinds.
    pub fn name(&self) -> Option<String> {
        if !matches!(&*self.kind, "event" | "anchor") {
            return None;
        }
        json::get(&self.payload, "name").and_then(json::string)
    }

    /// The name of an event; none for other kinds.
    pub fn event_name(&self) -> Option<String> {
        self.name().filter(|_| self.is("event"))
    }

    /// The name, when this is an anchor that has one.
    pub fn anchor_name(&self) -> Option<String> {
        self.name().filter(|_| self.is("anchor"))
    }

    /// Whether this anchor opens or closes a section, a stretch that a plugin keeps for itself, instead of a phase. Tapes
    /// from before the mark know sections by two names.
    pub fn is_section_anchor(&self) -> bool {
        if !self.is("anchor") {
            return false;
        }
        json::get(&self.meta, "zone") == Some("true")
            || matches!(self.anchor_name().as_deref(), Some("memory/open" | "memory/seal"))
    }

    /// The name of the section that this belongs to: one of its anchors, or an event inside of it. Events of a memory that
    /// was written before the mark are known by their names.
    pub fn section_name(&self) -> Option<String> {
        match &*self.kind {
            "anchor" if self.is_section_anchor() => Some(self.anchor_name()?.rsplit_once('/')?.0.to_owned()),
            "event" if json::get(&self.meta, "zone") == Some("true") => {
                Some(self.event_name()?.split_once('.')?.0.to_owned())
            }
            // Reading a payload costs more than looking at it.
            "event" if self.payload.contains("\"memory.") => {
                let name = self.event_name()?;
                matches!(name.as_str(), "memory.long_term" | "memory.daily").then(|| MEMORY.to_owned())
            }
            _ => None,
        }
    }

    /// Whether a view may begin here: an anchor, but no section's.
    pub fn begins_phase(&self) -> bool {
        self.is("anchor") && !self.is_section_anchor()
    }

    /// Whether the record may reach the model: not when its meta says `"context": false`.
    pub fn in_context(&self) -> bool {
        json::get(&self.meta, "context") != Some("false")
    }
}

/// An entry's line.
pub(super) fn line(id: u64, kind: &str, payload: &str, meta: &str, date: &str) -> String {
    let mut text = String::with_capacity(payload.len() + meta.len() + 128);
    push_line(&mut text, id, kind, payload, meta, date);
    text
}

/// The same, behind other text.
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

/// A value as it is written, unless it spans lines, which an entry does not.
fn piece(value: &str) -> Option<Arc<str>> {
    if value.contains('\n') { json::reprint(value).ok().map(Arc::from) } else { Some(value.into()) }
}
