//! Cold starts: a new process builds the view of a tape.

use crate::tapes::NAME;
use bub_tape::{FileStore, Tape, view};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The cost of one cold start.
pub struct Cold {
    /// From opening the directory to the view.
    pub took: Duration,
    /// Resident memory of the process afterwards, in bytes.
    pub memory: u64,
}

/// Builds the view and prints the result for [`measure`].
pub fn look(dir: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio starts");
    let begun = Instant::now();
    let store = FileStore::open(dir).expect("the directory is there");
    let tape = Tape::open(Arc::new(store), NAME).expect("it is a name");
    let window = runtime.block_on(view::window(&tape)).expect("the tape can be read");
    println!("{} {} {}", begun.elapsed().as_nanos(), resident(), window.len());
}

/// Starts a process for a cold start, and returns its result.
pub fn measure(dir: &Path) -> Cold {
    let program = std::env::current_exe().expect("the program has a path");
    let output = Command::new(program).arg("--cold").arg(dir).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it prints numbers");
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().expect("it prints numbers"));
    let mut next = || numbers.next().expect("it prints three numbers");
    let cold = Cold { took: Duration::from_nanos(next()), memory: next() };
    assert!(next() < 1000, "the view is what stands behind the anchor");
    cold
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel says it");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("the kernel says it");
    let kilobytes: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("it is a number");
    kilobytes * 1024
}
