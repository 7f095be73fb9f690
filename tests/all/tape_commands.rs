//! `bub-wasm tape ...`: what each command shows, changes and refuses.

mod change;
mod context;
mod erase;
mod export;
pub(crate) mod gc;
mod named;
mod odd_ids;
mod reading;
mod screen;
mod search;
mod verify;

use crate::home;
use bub_tests::{Finished, GOLDEN, Home};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A tape of Bub's: two phases, a tool call, 32 entries.
const BUBS: &str = "3fe2cdda142ca04d__0b871d5e50e7c192";

/// The file of Bub's tape among the recorded runs.
fn golden() -> PathBuf {
    Path::new(GOLDEN).join(format!("tool_handoff/tapes_after_03/{BUBS}.jsonl"))
}

/// A home with Bub's tape in it.
fn home_with_bubs() -> Home {
    let home = home();
    fs::create_dir_all(home.tapes_dir()).expect("the home can be written");
    fs::copy(golden(), tape_file(&home, BUBS)).expect("a recorded tape");
    home
}

/// A home in which a tape holds these lines.
fn home_with(name: &str, lines: &[&str]) -> Home {
    let home = home();
    fs::create_dir_all(home.tapes_dir()).expect("the home can be written");
    fs::write(tape_file(&home, name), lines.concat()).expect("the home can be written");
    home
}

fn tape_file(home: &Home, name: &str) -> PathBuf {
    home.tapes_dir().join(format!("{name}.jsonl"))
}

/// One line of a tape.
fn line(id: u64, kind: &str, payload: &str) -> String {
    let second = id % 60;
    format!(
        "{{\"id\": {id}, \"kind\": \"{kind}\", \"payload\": {payload}, \"meta\": {{}}, \"date\": \"2026-11-21T02:36:{second:02}.000001+00:00\"}}\n"
    )
}

fn message(id: u64, role: &str, content: &str) -> String {
    let content = Value::from(content);
    line(id, "message", &format!("{{\"role\": \"{role}\", \"content\": {content}}}"))
}

/// `bub-wasm tape` with these words, which must go well.
#[track_caller]
fn tape<'a>(home: &Home, words: impl IntoIterator<Item = &'a str>) -> Finished {
    let finished = home.bub(std::iter::once("tape").chain(words)).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished
}

#[track_caller]
fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{finished}"))
}

/// The files in the directory of tapes, by name.
fn files(home: &Home) -> Vec<String> {
    let found = fs::read_dir(home.tapes_dir()).expect("it is there");
    let mut names: Vec<String> = found.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
