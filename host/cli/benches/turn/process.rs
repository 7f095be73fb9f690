//! Whole runs of the program, from process start to exit, with compiled code in the cache.

use crate::child::{command, run_once, warm_up};
use crate::figure::{Samples, print_memory};
use bub_tape::{Draft, FileStore, Tape, tape_name};
use bub_tests::Home;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WARM_UP: usize = 3;
const RUNS: usize = 20;

/// Entries of the long tape, which ends with an anchor.
const ENTRIES: usize = 10_000;

const TARGET: Duration = Duration::from_millis(10);
const TARGET_MEMORY: u64 = 32_000_000;

/// Compares an empty and a long tape. The costs should be equal: a turn depends on the entries after the latest anchor.
pub async fn figures() {
    let home = Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"));
    fill(&home, "empty", 0).await;
    fill(&home, "long", ENTRIES).await;
    measure(&home, "empty", "`run`, offline model, empty tape");
    measure(&home, "long", "`run`, offline model, 10,000 entries");
}

/// Lengths of tapes without an index: a turn on the longer one should take at most twice as long.
const UNINDEXED: [usize; 2] = [1_000, 1_000_000];

/// The time to the answer of the first turn on a tape whose index was deleted, and the ratio between the two lengths.
pub async fn unindexed_figures() {
    let home = Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"));
    // `run_once` sets no cache directory, so it is in the home.
    let index = home.bub_home().join("cache/index");
    let mut medians = Vec::new();
    for entries in UNINDEXED {
        let session = entries.to_string();
        fill(&home, &session, entries).await;
        let tape = home.tape_file(&session);
        let length = tape.metadata().expect("the tape is there").len();
        warm_up(&home, &["--session-id", &session]);
        cut(&tape, length);
        let mut samples = Vec::new();
        for run in 0..WARM_UP + RUNS {
            // A home without an index has no such directory.
            let _ = std::fs::remove_dir_all(&index);
            let took = answer_once(&home, &["--session-id", &session]);
            if run >= WARM_UP {
                samples.push(took);
            }
            cut(&tape, length);
        }
        let samples = Samples::new(samples);
        medians.push(samples.median());
        samples.print(&format!("answer of `run`, {entries} entries, no index"), None);
    }
    let ratio = medians[1].as_secs_f64() / medians[0].as_secs_f64();
    println!("  ratio of the two: {ratio:.2} (target: 2)");
}

/// The last two entries are the anchor and its event.
async fn fill(home: &Home, session: &str, entries: usize) {
    let store = FileStore::open(home.tapes_dir()).expect("the tapes can be kept");
    let name = tape_name(&home.workspace(), session);
    let tape = Tape::open(Arc::new(store), &name).expect("a tape may have that name");
    if entries == 0 {
        std::fs::create_dir_all(home.tapes_dir()).expect("the directory can be made");
        std::fs::write(home.tape_file(session), "").expect("the tape can be written");
        return;
    }
    let drafts = (2..entries)
        .map(|number| {
            let role = ["user", "assistant"][number % 2];
            let payload = format!(r#"{{"role": "{role}", "content": "{}"}}"#, "a word or two ".repeat(6));
            Draft::new("message", &payload, r#"{"run_id": "0123456789abcdef"}"#).expect("it is an entry")
        })
        .collect();
    tape.append(drafts).await.expect("the tape can be written");
    tape.handoff("bench/phase", None).await.expect("the tape can be written");
}

fn measure(home: &Home, session: &str, name: &str) {
    let tape = home.tape_file(session);
    let length = tape.metadata().expect("the tape is there").len();
    warm_up(home, &["--session-id", session]);
    cut(&tape, length);
    let mut samples = Vec::new();
    let mut peak = 0;
    for run in 0..WARM_UP + RUNS {
        let (took, bytes) = run_once(home, &["--session-id", session]);
        if run >= WARM_UP {
            samples.push(took);
            peak = peak.max(bytes);
        }
        cut(&tape, length);
    }
    Samples::new(samples).print(name, Some(TARGET));
    print_memory("  peak memory, of all runs", peak, TARGET_MEMORY);
}

/// Truncates the tape, so that the next run starts from the same state.
fn cut(tape: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(tape).expect("the tape is there");
    file.set_len(length).expect("the tape can be cut");
}

/// The time to the first byte of the answer, without the work after it.
fn answer_once(home: &Home, options: &[&str]) -> Duration {
    let mut command = command(home, options);
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut first = [0];
    child.stdout.take().expect("it is piped").read_exact(&mut first).expect("the program answers");
    let took = begun.elapsed();
    assert!(child.wait().expect("the program ends").success(), "the program failed");
    took
}
