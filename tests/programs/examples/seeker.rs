//! Keeps 600 entries under every name and finds them itself, against the rule that its `mode` names. Without a mode it answers
//! every entry between the bounds, which is allowed.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/seeker", generate_all });

use bub::plugin::config;
use bub::tape::entries::Entry;
use bub::types::types::{Error, ErrorKind};
use exports::bub::tape::store::{self, Batch, Lookup, Outcome, Page};
use exports::bub::tape::store_query::{self, Candidates, Condition};

const LAST: u64 = 600;

struct Seeker;

impl store_query::Guest for Seeker {
    fn query(
        tape: String,
        Condition { after, before, .. }: Condition,
        newest_first: bool,
        max: u32,
    ) -> Result<Option<Candidates>, Error> {
        let end = before.unwrap_or(u64::MAX).min(last(&tape) + 1);
        let mut ids: Vec<u64> = (after + 1..end).collect();
        if newest_first {
            ids.reverse();
        }
        let max = max as usize;
        let mut next = ids.get(max - 1).copied().filter(|_| ids.len() > max);
        let mode = mode();
        if mode != "too-many" {
            ids.truncate(max);
        }
        let first = ids.first().copied();
        match mode.as_str() {
            "none" => return Ok(None),
            "trap" => core::arch::wasm32::unreachable(),
            "error" => return Err(error(ErrorKind::Temporary, "the index is \u{1b}[31mbroken\n  again")),
            "invalid" => return Err(error(ErrorKind::InvalidInput, "not like this")),
            "twice" => {
                if let [first, second, ..] = ids.as_mut_slice() {
                    *second = *first;
                }
            }
            "out-of-order" => ids.reverse(),
            "beyond" => ids = vec![if newest_first { before.unwrap_or(LAST + 1) } else { after }],
            // It never comes back to the bound that it was given, and never finds anything.
            "endless" => {
                ids.clear();
                next = first;
            }
            "stands-still" => {
                ids.clear();
                next = Some(if newest_first { before.unwrap_or(0) } else { after });
            }
            _ => {}
        }
        let mut entries: Vec<Entry> = ids.into_iter().map(entry).collect();
        if let Some(first) = entries.first_mut() {
            match mode.as_str() {
                "no-json" => first.payload.truncate(9),
                "two-lines" => first.payload.push('\n'),
                _ => {}
            }
        }
        Ok(Some(Candidates { entries, next }))
    }
}

impl store::Guest for Seeker {
    fn commit(_batches: Vec<Batch>, _key: Option<String>) -> Result<Outcome, Error> {
        Ok(Outcome::Stored)
    }

    fn read(tape: String, after: u64, max: u32) -> Result<Page, Error> {
        let end = last(&tape).min(after.saturating_add(max.into()));
        Ok(Page { entries: (after.saturating_add(1)..=end).map(entry).collect(), more: end < last(&tape) })
    }

    fn tail(tape: String, before: Option<u64>, max: u32) -> Result<Page, Error> {
        let end = before.unwrap_or(u64::MAX).min(last(&tape) + 1).max(1);
        let begin = end.saturating_sub(max.into()).max(1);
        Ok(Page { entries: (begin..end).map(entry).collect(), more: begin > 1 })
    }

    fn newest(tape: String, lookup: Lookup, before: Option<u64>) -> Result<Option<Entry>, Error> {
        let Lookup::Kind(kind) = lookup else { return Ok(None) };
        let end = before.unwrap_or(u64::MAX).min(last(&tape) + 1);
        Ok((1..end).rev().map(entry).find(|entry| entry.kind == kind))
    }

    fn list_tapes(_after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn list_sidecars(_tape: String, _after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn archive_name(_tape: String) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

/// Sidecars are empty.
fn last(tape: &str) -> u64 {
    if tape.contains("__sidecar__") { 0 } else { LAST }
}

/// One entry in a hundred is of a heron, and one holds what terminals obey.
fn entry(id: u64) -> Entry {
    let content = match id % 100 {
        7 => format!("heron {id}"),
        50 => format!("stork {id} \u{1b}]0;obeyed\u{7}"),
        _ => format!("filler {id}"),
    };
    let payload = serde_json::json!({ "role": "user", "content": content }).to_string();
    let text = |text: &str| text.to_owned();
    Entry { id, kind: text("message"), payload, meta: text("{}"), date: text("2026-11-21T00:00:00+00:00") }
}

fn error(kind: ErrorKind, message: &str) -> Error {
    Error { kind, message: message.to_owned(), details: None }
}

fn mode() -> String {
    let value = config::get("mode").and_then(|value| serde_json::from_str(&value).ok());
    value.unwrap_or_default()
}

export!(Seeker);
