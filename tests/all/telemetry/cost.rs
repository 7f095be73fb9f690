//! Processor time that telemetry adds to a turn.
//!
//! ```sh
//! cargo build --release
//! BUB_COST_PROGRAM=target/release/bub-wasm cargo test --test all -- telemetry::cost --ignored --nocapture
//! ```
//!
//! `just telemetry-cost` counts instructions, which do not depend on what else the machine does.

use super::collector::Collector;
use bub_tests::{Answer, Home, Server};
use serde_json::json;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wait4::Wait4;

/// Turns of the two runs whose difference is taken: what a start costs is in both.
const FEW: usize = 10;
const MANY: usize = 110;

/// How often both are run. The least time counts: all that the machine does besides only adds to it.
const REPEATS: usize = 7;

/// The processor time of so many turns with a tool call and a model over HTTP, the exporter's thread included.
fn taken(program: &str, turns: usize, collector: Option<&Collector>) -> Duration {
    let home = Home::new(program, env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(home.workspace().join("notes.txt"), "buy milk").expect("a file to read");
    let read = json!({ "path": "notes.txt" }).to_string();
    let model = Server::new((0..turns).flat_map(|_| [Answer::tool_call("fs.read", &read), Answer::text("milk")]));
    let run = home.bub(["chat"]).model(&model);
    let run = match collector {
        Some(collector) => run.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base()),
        None => run,
    };
    let (script, input) = (home.bub_home().join("start"), home.bub_home().join("input"));
    run.script(&script);
    std::fs::write(&input, "what is in notes.txt?\n".repeat(turns)).expect("a file");
    let mut command = Command::new(&script);
    command.stdin(File::open(&input).expect("it is there")).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = command.spawn().expect("the program starts").wait4().expect("it ends");
    assert!(ended.status.success(), "{:?}", ended.status);
    assert_eq!(model.requests().len(), 2 * turns);
    ended.rusage.utime + ended.rusage.stime
}

/// The least processor time of one turn, without and with telemetry.
fn of_a_turn(program: &str, collector: &Collector) -> [f64; 2] {
    let mut least = [[Duration::MAX; 2]; 2];
    for _ in 0..REPEATS {
        for (of, with) in least.iter_mut().zip([None, Some(collector)]) {
            for (least, turns) in of.iter_mut().zip([FEW, MANY]) {
                *least = (*least).min(taken(program, turns, with));
            }
        }
    }
    least.map(|[few, many]| many.saturating_sub(few).as_secs_f64() / (MANY - FEW) as f64)
}

#[test]
#[ignore = "takes a minute, and wants an optimized program on a quiet machine"]
fn a_turn_with_telemetry_takes_at_most_a_twentieth_more_processor_time() {
    let program = std::env::var("BUB_COST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_bub-wasm").to_owned());
    let program = Path::new(&program).canonicalize().expect("BUB_COST_PROGRAM is a program");
    let collector = Collector::new();
    let [off, on] = of_a_turn(program.to_str().expect("its path is UTF-8"), &collector);
    assert!(!collector.spans().is_empty(), "it has exported");
    let share = (on - off) / off * 100.0;
    println!("a turn takes {:.3} ms without telemetry, {:.3} ms with it: {share:+.1} %", off * 1e3, on * 1e3);
    assert!(share <= 5.0, "{share:+.1} %");
}
