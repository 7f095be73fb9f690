//! What the page costs: bytes of its first load, time to its first paint and to the answer to a key, and a long tape.

use super::model::model;
use super::{Play, packages};
use crate::home;
use crate::serve::serve;
use bub_tests::Home;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::io::Write as _;

const ENTRIES: u64 = 100_000;

/// An entry of a tape as turns with tools leave it, with an anchor each 500 entries.
fn entry(id: u64) -> Value {
    let user = format!("Question {id} about the state of the build and of its tests");
    let (kind, payload) = match id % 10 {
        _ if id % 500 == 1 => {
            ("anchor", json!({ "name": format!("phase/{}", id / 500), "state": { "goal": "green" } }))
        }
        2 => ("event", json!({ "name": "loop.start", "data": { "model": "openai:fake-model", "prompt": user } })),
        3 => ("system", json!({ "content": "You are an agent." })),
        4 => ("message", json!({ "role": "user", "content": user })),
        5 => {
            let function = json!({ "name": "bash", "arguments": format!("{{\"cmd\": \"ls -la src/{id}\"}}") });
            let call = json!({ "id": format!("call_{id}"), "type": "function", "function": function });
            ("tool_call", json!({ "calls": [call] }))
        }
        6 => ("tool_result", json!({ "results": [format!("total {id}\nsrc\ntests")] })),
        7 => (
            "message",
            json!({ "role": "assistant", "content": format!("Answer {id}: **the build is green**, and nothing is left to do.") }),
        ),
        _ => ("event", json!({ "name": "loop.step", "data": { "step": 1, "status": "ok", "elapsed_ms": id % 900 } })),
    };
    json!({ "id": id, "kind": kind, "payload": payload, "meta": {}, "date": "2026-01-01T00:00:00+00:00" })
}

fn write_tape(home: &Home, session: &str, count: u64) {
    let mut lines = String::new();
    for id in 1..=count {
        writeln!(lines, "{}", entry(id)).expect("a string takes what is written");
    }
    fs::create_dir_all(home.tapes_dir()).expect("a directory");
    fs::write(home.tape_file(session), lines).expect("a tape");
}

#[test]
#[ignore = "plays the page in a browser"]
fn the_first_load_is_small_and_a_tape_of_100_000_entries_is_scrolled_in_small_pieces() {
    let Some(packages) = packages() else { return };
    let home = home();
    write_tape(&home, "http:long", ENTRIES);
    write_tape(&home, "http:short", 300);
    let model = model();
    let serve = serve(&home, &model);
    let said = Play::new(packages, "figures", &home, &serve).with("ENTRIES", ENTRIES.to_string()).passes();
    // Past the capture of the test runner.
    let figures: String =
        said.lines().filter(|line| line.starts_with("figure:")).map(|line| format!("{line}\n")).collect();
    let _ = write!(std::io::stderr(), "\n{figures}");
}
