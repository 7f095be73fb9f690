//! Forgotten entries: they stay on the tape, but their words are withheld from guests, models and searches.
//!
//! They are recorded in a sidecar that only the host writes, as events `memory.forgotten`. An event names entries by
//! digest, so it applies to the tape, its sidecars and copies, whatever their ids, and contains none of their words.
//! Files are not changed: `Store::erase` does that.

use std::collections::HashSet;

use bub_types::text::hex;
use sha2::{Digest as _, Sha256};

use super::draft::{Draft, event};
use super::entry::{Entry, SESSION_MARK};
use super::error::Result;
use super::json;

/// The sidecar that lists forgotten entries of a tape and its other sidecars.
pub const SIDECAR: &str = "forgotten";

/// The event that names forgotten entries.
pub(crate) const EVENT: &str = "memory.forgotten";

/// Replaces the words of a forgotten entry.
pub const PLACEHOLDER: &str = "(forgotten)";

/// Maximum entries per event.
const NAMED: usize = 256;

/// Bytes of the SHA-256 that identify an entry.
const BYTES: usize = 16;

/// The forgotten entries of a tape and its sidecars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    digests: HashSet<[u8; BYTES]>,
    /// Lengths of their payloads: entries of other lengths need no digest.
    lengths: HashSet<usize>,
}

impl Forgotten {
    /// Adds the entries that an event of the sidecar names; other entries are ignored.
    pub(super) fn fold(&mut self, entry: &Entry) {
        if entry.event_name().as_deref() != Some(EVENT) {
            return;
        }
        let named = json::get(&entry.payload, "data").and_then(|data| json::get(data, "entries"));
        for named in named.and_then(|named| json::elements(named).ok()).unwrap_or_default() {
            let digest = json::get(named, "digest").and_then(json::string).and_then(|digest| from_hex(&digest));
            let bytes = json::get(named, "bytes").and_then(|bytes| bytes.parse().ok());
            if let (Some(digest), Some(bytes)) = (digest, bytes) {
                self.digests.insert(digest);
                self.lengths.insert(bytes);
            }
        }
    }

    /// Whether nothing is forgotten.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Whether that entry is forgotten.
    pub fn holds(&self, entry: &Entry) -> bool {
        self.lengths.contains(&entry.payload.len()) && self.digests.contains(&digest(entry))
    }

    /// The entry to show: without its words if it is forgotten.
    pub fn shown(&self, entry: Entry) -> Entry {
        if self.holds(&entry) { without_words(&entry) } else { entry }
    }
}

/// Identifies an entry without containing its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    id: u64,
    bytes: usize,
    digest: [u8; BYTES],
}

impl Mark {
    pub(super) fn new(entry: &Entry) -> Self {
        Self { id: entry.id, bytes: entry.payload.len(), digest: digest(entry) }
    }
}

/// Events that name these entries, to append to [`SIDECAR`].
pub(super) fn events(marks: &[Mark]) -> Result<Vec<Draft>> {
    let named =
        |Mark { id, bytes, digest }: &Mark| format!(r#"{{"id": {id}, "bytes": {bytes}, "digest": "{}"}}"#, hex(digest));
    let events = marks.chunks(NAMED).map(|marks| {
        let entries: Vec<String> = marks.iter().map(named).collect();
        event(EVENT, &format!(r#"{{"entries": [{}]}}"#, entries.join(", ")))?.with_meta("context", "false")
    });
    events.collect()
}

/// Whether an entry can be forgotten: not one that holds settings, which contains no conversation and is still needed.
pub(super) fn can_be(entry: &Entry) -> bool {
    !entry.is("event") || entry.event_name().is_none_or(|name| !STEERING.contains(&name.as_str()))
}

/// Events that hold settings of a session, or record what is forgotten and erased.
const STEERING: [&str; 8] = [
    EVENT,
    SESSION_MARK,
    "tape.erased",
    "turn.tainted",
    "turn.addresses",
    "model_switch",
    "reasoning_effort_switch",
    "selector_switch",
];

/// The name of an entry in events and receipts: a part of the SHA-256 of its kind, payload and date, in hex.
pub fn digest_of(entry: &Entry) -> String {
    hex(&digest(entry))
}

fn digest(entry: &Entry) -> [u8; BYTES] {
    let mut sum = Sha256::new();
    for part in [&entry.kind, &entry.payload, &entry.date] {
        sum.update(part.as_bytes());
        sum.update([0]);
    }
    let mut digest = [0; BYTES];
    digest.iter_mut().zip(sum.finalize()).for_each(|(to, from)| *to = from);
    digest
}

fn from_hex(text: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    if text.len() != 2 * BYTES || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// The entry reduced to the structure of the conversation: the speaker, the tools called, and the number of results.
pub(super) fn without_words(entry: &Entry) -> Entry {
    let gone = json::quote(PLACEHOLDER);
    let field = |key: &str| json::get(&entry.payload, key).map(str::to_owned);
    let items = |key: &str| {
        let list = json::get(&entry.payload, key).and_then(|list| json::elements(list).ok());
        list.unwrap_or_default()
    };
    let payload = match &*entry.kind {
        "message" => format!(r#"{{"role": {}, "content": {gone}}}"#, field("role").unwrap_or_else(|| gone.clone())),
        "tool_call" => {
            let calls: Vec<String> = items("calls").into_iter().map(call_without_arguments).collect();
            format!(r#"{{"calls": [{}]}}"#, calls.join(", "))
        }
        "tool_result" => format!(r#"{{"results": [{}]}}"#, vec![gone; items("results").len()].join(", ")),
        "anchor" | "event" => {
            let key = if entry.is("anchor") { "state" } else { "data" };
            let kept = field("name").unwrap_or_else(|| gone.clone());
            format!(r#"{{"name": {kept}, "{key}": {gone}}}"#)
        }
        "system" => format!(r#"{{"content": {gone}}}"#),
        "error" => format!(r#"{{"kind": "unknown", "message": {gone}}}"#),
        _ => "{}".to_owned(),
    };
    let meta = Draft::from(entry.clone()).with_meta("forgotten", "true");
    let meta = meta.map_or_else(|_| r#"{"forgotten": true}"#.to_owned(), |draft| draft.meta().to_owned());
    Entry { payload: payload.into(), meta: meta.into(), ..entry.clone() }
}

fn call_without_arguments(call: &str) -> String {
    let field = |object: Option<&str>, key: &str| {
        let value = object.and_then(|object| json::get(object, key));
        value.unwrap_or(r#""""#).to_owned()
    };
    let function = json::get(call, "function");
    format!(
        r#"{{"id": {}, "function": {{"arguments": "{{}}", "name": {}}}, "type": "function"}}"#,
        field(Some(call), "id"),
        field(function, "name")
    )
}
