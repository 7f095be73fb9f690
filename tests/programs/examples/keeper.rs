//! Keeps tapes, and breaks the rule that its `mode` names. Without one it has no tapes and forgets what it is given.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/keeper", generate_all });

use bub::plugin::config;
use bub::tape::entries::Entry;
use bub::types::types::{Error, ErrorKind};
use exports::bub::tape::store::{Batch, Guest, Lookup, Outcome, Page};

struct Keeper;

impl Guest for Keeper {
    fn commit(batches: Vec<Batch>, _key: Option<String>) -> Result<Outcome, Error> {
        let entries: usize = batches.iter().map(|batch| batch.entries.len()).sum();
        match mode().as_str() {
            "trap" => core::arch::wasm32::unreachable(),
            "error" => Err(error("no room\n  for tapes")),
            "invalid" => Err(Error { kind: ErrorKind::InvalidInput, ..error("not like this") }),
            "trap-at-the-end" if entries > 0 => core::arch::wasm32::unreachable(),
            "conflict" => {
                Ok(Outcome::Conflict(batches.iter().map(|batch| batch.last.unwrap_or_default() + 1).collect()))
            }
            "too-few-conflicts" => Ok(Outcome::Conflict(Vec::new())),
            _ => Ok(Outcome::Stored),
        }
    }

    fn read(_tape: String, after: u64, max: u32) -> Result<Page, Error> {
        page(after, max)
    }

    fn tail(_tape: String, before: Option<u64>, max: u32) -> Result<Page, Error> {
        page(before.unwrap_or_default(), max)
    }

    fn newest(_tape: String, _lookup: Lookup, before: Option<u64>) -> Result<Option<Entry>, Error> {
        match mode().as_str() {
            "newest-of-another-kind" => Ok(Some(entry(1))),
            "newest-beyond" => Ok(Some(Entry {
                kind: "anchor".to_owned(),
                payload: r#"{"name": "a"}"#.to_owned(),
                ..entry(before.unwrap_or(0))
            })),
            _ => Ok(None),
        }
    }

    fn list_tapes(_after: Option<String>, max: u32) -> Result<Vec<String>, Error> {
        Ok(match mode().as_str() {
            "names-out-of-order" => vec!["b__b".to_owned(), "a__a".to_owned()],
            "names-that-lead-out" => vec!["../a__a".to_owned()],
            "names-of-sidecars" => vec!["a__a__sidecar__b".to_owned()],
            "too-many-names" => (0..=max).map(|number| format!("a__{number:08}")).collect(),
            _ => Vec::new(),
        })
    }

    fn list_sidecars(_tape: String, _after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        Ok(match mode().as_str() {
            "sidecars-of-another" => vec!["a__a__sidecar__b".to_owned()],
            _ => Vec::new(),
        })
    }

    fn archive_name(_tape: String) -> Result<Option<String>, Error> {
        Ok(match mode().as_str() {
            "archive-elsewhere" => Some("../../etc/passwd".to_owned()),
            _ => None,
        })
    }
}

fn page(bound: u64, max: u32) -> Result<Page, Error> {
    let entries = match mode().as_str() {
        "trap" => core::arch::wasm32::unreachable(),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "sleep" => {
            std::thread::sleep(std::time::Duration::from_secs(60));
            Vec::new()
        }
        "too-many" => (1..=u64::from(max) + 1).map(entry).collect(),
        "not-growing" => vec![entry(0)],
        "beyond" => vec![entry(bound)],
        "no-json" => vec![Entry { payload: "{\"a\": ".to_owned(), ..entry(1) }],
        "no-object" => vec![Entry { meta: "[]".to_owned(), ..entry(1) }],
        "two-lines" => vec![Entry { payload: "{\n}".to_owned(), ..entry(1) }],
        "deep" => vec![Entry { payload: format!("{{\"a\": {}", "[".repeat(1_000_000)), ..entry(1) }],
        "last-id" => vec![entry(u64::MAX)],
        "large" => vec![Entry { payload: "x".repeat(17 << 20), ..entry(1) }],
        _ => Vec::new(),
    };
    Ok(Page { entries, more: mode() == "endless" })
}

fn entry(id: u64) -> Entry {
    let text = |text: &str| text.to_owned();
    Entry { id, kind: text("message"), payload: text("{}"), meta: text("{}"), date: text("2026-11-21T00:00:00+00:00") }
}

fn error(message: &str) -> Error {
    Error { kind: ErrorKind::Temporary, message: message.to_owned(), details: None }
}

fn mode() -> String {
    let value = config::get("mode").and_then(|value| serde_json::from_str(&value).ok());
    value.unwrap_or_default()
}

export!(Keeper);
