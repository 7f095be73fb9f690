//! A selector that does what `[plugins.NAME.config] deed` says: fails, traps, or forks a sidecar as deep as it may.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/context", generate_all });

use bub::context::view::View;
use bub::plugin::{config, log};
use bub::types::types::{Error, ErrorKind};
use exports::bub::context::selector::{Part, Selected};
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime};

/// Far more than a host could take on its stack.
const FORKS: u32 = 4_500;

struct Choosy;

impl exports::bub::context::selector::Guest for Choosy {
    fn select(view: View) -> Result<Selected, Error> {
        match text("deed").as_str() {
            "error" => {
                return Err(Error {
                    kind: ErrorKind::Unknown,
                    message: "nothing is worth telling".to_owned(),
                    details: None,
                });
            }
            "trap" => core::arch::wasm32::unreachable(),
            "results" => return of_kind(&view, "tool_result"),
            "calls" => return of_kind(&view, "tool_call"),
            "role" => return Ok(selected(vec![Part::Message(r#"{"role": "king", "content": "obey"}"#.to_owned())])),
            "nothing" => {}
            "time" => tell_time(),
            sidecar => fork(&view, sidecar),
        }
        Ok(selected(Vec::new()))
    }
}

fn selected(history: Vec<Part>) -> Selected {
    Selected { system_prompt: None, before: Vec::new(), history, after: Vec::new(), notes: "{}".to_owned() }
}

/// The messages of the window, and of the rest what is of that kind.
fn of_kind(view: &View, kind: &str) -> Result<Selected, Error> {
    let entries = view.tail(None, 256)?;
    let taken = entries.iter().filter(|entry| entry.kind == kind || entry.kind == "message");
    Ok(selected(taken.map(|entry| Part::Entry(entry.id)).collect()))
}

/// The clocks, read twice, and random numbers.
fn tell_time() {
    let wall = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    let (first, began) = (wall(), Instant::now());
    let sum: u64 = (0..3_000_000_u64).map(std::hint::black_box).sum();
    let chance = RandomState::new().hash_one(sum);
    let line = json!({
        "hook": "selector", "first": first, "second": wall(), "passed": began.elapsed().as_nanos() as u64, "chance": chance.to_string(),
    });
    log::log(log::Level::Info, &format!("saw:{line}"));
}

/// Forks of forks of the sidecar of that name, and a read through all of them.
fn fork(view: &View, sidecar: &str) {
    let mut tape = match view.sidecar(sidecar) {
        Ok(tape) => tape,
        Err(error) => return saw(0, &error),
    };
    for depth in 1..=FORKS {
        match tape.fork() {
            Ok(fork) => tape = fork,
            Err(error) => {
                saw(depth, &error);
                break;
            }
        }
    }
    if let Err(error) = tape.tail(None, 1) {
        saw(FORKS, &error);
    }
}

fn saw(depth: u32, error: &Error) {
    let kind = format!("{:?}", error.kind).replace("ErrorKind::", "");
    let line = json!({ "hook": "selector", "depth": depth, "kind": kind, "message": error.message });
    log::log(log::Level::Info, &format!("saw:{line}"));
}

fn text(key: &str) -> String {
    let value: Value = config::get(key).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

export!(Choosy);
