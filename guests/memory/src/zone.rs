//! Conversion of a section to and from entries.

use crate::snapshot::{Part, Snapshot};
use bub_guest::tape::{Draft, Entry};
use serde_json::{Value, json};

/// The section's name: its anchors are `memory/open` and `memory/seal`.
pub const NAME: &str = "memory";

const OPEN: &str = "memory/open";
const SEAL: &str = "memory/seal";
const LONG_TERM: &str = "memory.long_term";
const DAILY: &str = "memory.daily";

/// Parses a section from its open to its seal; `None` without one. Other entries are ignored.
pub fn read(entries: &[Entry]) -> Option<Snapshot> {
    let seal = entries.last()?;
    let anchor: Value = serde_json::from_str(&seal.payload).ok()?;
    let version = anchor.pointer("/state/version")?.as_u64()?;
    let pruned = meta(seal).get("pruned").and_then(Value::as_str).map(str::to_owned);
    let mut zone = Snapshot::empty(version);
    zone.pruned = pruned;
    for entry in entries.iter().filter(|entry| entry.kind == "event") {
        let Ok(payload) = serde_json::from_str::<Value>(&entry.payload) else { continue };
        let Some(content) = payload.pointer("/data/content").and_then(Value::as_str) else { continue };
        let text = |key: &str| payload.pointer(key).and_then(Value::as_str).map(str::to_owned);
        let part = Part {
            content: content.to_owned(),
            updated_at: text("/data/updated_at").unwrap_or_default(),
            tainted: meta(entry).get("tainted") == Some(&Value::Bool(true)),
        };
        match payload.get("name").and_then(Value::as_str) {
            Some(LONG_TERM) => zone.save(part),
            Some(DAILY) => {
                if let Some(date) = text("/data/date") {
                    zone.set_note(&date, part);
                }
            }
            _ => {}
        }
    }
    Some(zone)
}

/// The entries of a section, with the notes oldest first.
pub fn write(zone: &Snapshot) -> Vec<Draft> {
    let anchor =
        |name: &str, meta: Value| draft("anchor", json!({ "name": name, "state": { "version": zone.version } }), meta);
    // Untainted text is marked explicitly, or the host would mark it in a tainted turn.
    let mut entries = vec![anchor(OPEN, json!({ "zone": true, "tainted": false }))];
    let mark = |part: &Part| json!({ "zone": true, "tainted": part.tainted });
    if let Some(part) = &zone.long_term {
        let data = json!({ "content": part.content, "updated_at": part.updated_at });
        entries.push(draft("event", json!({ "name": LONG_TERM, "data": data }), mark(part)));
    }
    for note in zone.notes().iter().rev() {
        let part = &note.part;
        let data = json!({ "date": note.date, "content": part.content, "updated_at": part.updated_at });
        entries.push(draft("event", json!({ "name": DAILY, "data": data }), mark(part)));
    }
    let mut meta = json!({ "zone": true, "tainted": false });
    if let Some(day) = &zone.pruned {
        meta["pruned"] = day.as_str().into();
    }
    entries.push(anchor(SEAL, meta));
    entries
}

fn draft(kind: &str, payload: Value, meta: Value) -> Draft {
    Draft { kind: kind.to_owned(), payload: payload.to_string(), meta: meta.to_string() }
}

fn meta(entry: &Entry) -> Value {
    serde_json::from_str(&entry.meta).unwrap_or_default()
}
