//! Instructions that telemetry adds to a turn, counted by valgrind. They do not depend on the load of the machine.
//!
//! ```sh
//! cargo build --profile bench
//! BUB_COST_PROGRAM=target/release/bub-wasm cargo test --test all -- telemetry::cost --ignored --nocapture
//! ```

use super::collector::Collector;
use bub_tests::{Answer, Home, Server};
use serde_json::json;
use std::path::Path;

/// Turns of the two runs whose difference is counted: what a start costs is in both.
const FEW: usize = 4;
const MANY: usize = 24;

/// The instructions of one turn with a tool call and a model over HTTP, the exporter's own included.
fn instructions(program: &str, collector: Option<&Collector>) -> u64 {
    let counted = |turns: usize| {
        let home = Home::new(program, env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(home.workspace().join("notes.txt"), "buy milk").expect("a file to read");
        let read = json!({ "path": "notes.txt" }).to_string();
        let answers = (0..turns).flat_map(|_| [Answer::tool_call("fs.read", &read), Answer::text("milk")]);
        let model = Server::new(answers);
        let valgrind = "set -- \"$0\" \"$@\"; exec valgrind --tool=callgrind --callgrind-out-file=/dev/null \"$@\"";
        let run = home.bub(["chat"]).under(valgrind).model(&model);
        let run = run.input(&"what is in notes.txt?\n".repeat(turns));
        let run = match collector {
            Some(collector) => run.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base()),
            None => run,
        };
        let finished = run.finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        assert_eq!(model.requests().len(), 2 * turns, "{finished}");
        let collected = finished.stderr.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
        collected.unwrap_or_else(|| panic!("valgrind counts: {finished}"))
    };
    let (few, many): (u64, u64) = (counted(FEW), counted(MANY));
    many.saturating_sub(few) / (MANY - FEW) as u64
}

#[test]
#[ignore = "needs valgrind, and takes minutes; run it with an optimized program"]
fn a_turn_with_telemetry_takes_at_most_a_twentieth_more_instructions() {
    let program = std::env::var("BUB_COST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_bub-wasm").to_owned());
    let program = Path::new(&program).canonicalize().expect("BUB_COST_PROGRAM is a program");
    let program = program.to_str().expect("its path is UTF-8");
    let off = instructions(program, None);
    let collector = Collector::new();
    let on = instructions(program, Some(&collector));
    assert!(!collector.spans().is_empty(), "it has exported");
    let share = (on as f64 - off as f64) / off as f64 * 100.0;
    println!("instructions of a turn: {off} without telemetry, {on} with it: {share:+.2} %");
    assert!(share <= 5.0, "{share:+.2} %");
}
