//! `run` as a person or a script uses it: approvals, output, further input, and the messages of failed turns.

mod approval;
mod errors;
mod format;
mod piped;
mod terminal;

use crate::home;
use bub_tests::{Finished, Home, Run};

/// `bub-wasm run` as it is without the tests' own format.
fn plain<'h>(home: &'h Home, arguments: &[&str]) -> Run<'h> {
    home.run(arguments.iter().copied()).env("BUB_FORMAT", "")
}

/// A home whose owner vouches for the workspace.
fn trusting() -> Home {
    let home = home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    home
}

/// A home with an untrusted workspace and a file in it.
fn untrusted() -> Home {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "one\ntwo\nthree\n").expect("a file");
    home
}

/// Checks that stderr contains no internal vocabulary.
#[track_caller]
fn speaks_plainly(finished: &Finished) {
    for word in ["taint", "stage `", "run-model-stream", "plugin `builtin`"] {
        assert!(!finished.stderr.contains(word), "`{word}`\n{finished}");
    }
}
