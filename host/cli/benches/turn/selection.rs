//! The cost of building a context, for a tape of a thousand entries, and for one of a million whose only anchor is the
//! first. `tape context --against` reports the duration of a selection in a process with warm components.

use crate::figure::Samples;
use bub_tests::{Home, programs};
use serde_json::Value;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

/// Number of processes; each measures once.
const RUNS: usize = 15;

pub fn figures() {
    let few = selected(1_000);
    few.print("context of 1,000 entries (380 KB)", Some(Duration::from_millis(3)));
    let many = selected(1_000_000);
    // Only the window is read, so the cost differs only by disk placement.
    many.print("context of 1,000,000 entries, no anchor", Some(2 * few.median()));
}

fn selected(entries: usize) -> Samples {
    let home = Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"));
    home.plugin("window", programs::WINDOW);
    std::fs::create_dir_all(home.tapes_dir()).expect("the directory can be made");
    write(File::create(home.tape_file("cli:local")).expect("the tape can be made"), entries);
    let ask = || {
        let words = ["tape", "context", "--selector", "context-builder", "--against", "window", "--json", "--prompt"];
        let finished = home.bub(words.into_iter().chain(["what about the stone?"])).finish();
        let compared: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
        let side = &compared["sides"][0];
        assert_eq!(side["selector"], "context-builder", "{compared}");
        Duration::from_micros(side["micros"].as_u64().expect("it says how long it took"))
    };
    // Builds the index once.
    ask();
    Samples::new((0..RUNS).map(|_| ask()).collect())
}

/// Writes turns of six entries, of 380 bytes each on average.
fn write(file: File, entries: usize) {
    let mut file = BufWriter::new(file);
    let words = "what is said of the stone and of the weather in 上海 is said at some length, ".repeat(6);
    for number in 0..entries {
        let (kind, payload) = match (number, number % 6) {
            (0, _) => ("anchor", r#"{"name": "session/start", "state": {"owner": "human"}}"#.to_owned()),
            (_, 1) => (
                "event",
                format!(
                    r#"{{"name": "loop.start", "data": {{"model": "bench:model", "prompt": "question {number}: {words}"}}}}"#
                ),
            ),
            (_, 2) => ("event", r#"{"name": "loop.step.start", "data": {"step": 1}}"#.to_owned()),
            (_, 3) => ("message", format!(r#"{{"role": "user", "content": "question {number}: {words}"}}"#)),
            (_, 4) => ("message", format!(r#"{{"role": "assistant", "content": "answer {number}: {words}"}}"#)),
            (_, 5) => (
                "event",
                r#"{"name": "run", "data": {"status": "ok", "usage": {"total_tokens": 978}, "model": "bench:model"}}"#
                    .to_owned(),
            ),
            _ => ("event", r#"{"name": "loop.step", "data": {"step": 1, "elapsed_ms": 5, "status": "ok"}}"#.to_owned()),
        };
        let id = number + 1;
        writeln!(file, r#"{{"id": {id}, "kind": "{kind}", "payload": {payload}, "meta": {{}}, "date": "2026-11-21T00:00:00+00:00"}}"#)
            .expect("the tape can be written");
    }
}
