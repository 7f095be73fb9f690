//! `handoff`, `fork` and `reset`.

use super::{BUBS, files, golden, home_with_bubs, json, message, tape, tape_file};
use crate::home;
use bub_tests::{Answer, Server, tape as tapes};
use std::fs;

#[test]
fn a_handoff_begins_a_phase_that_the_next_turn_sees() {
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    let home = home();
    home.run(["the first thing"]).model(&server).finish();
    let done = json(&tape(&home, ["handoff", "half-way", "--state", r#"{"done": "half"}"#, "--json"]));
    let entries = tapes::read(&home.tape_file("cli:local"));
    let anchor = &entries[entries.len() - 2];
    assert_eq!((&anchor["kind"], &anchor["id"]), (&"anchor".into(), &done["id"]), "{anchor}");
    assert_eq!(anchor["payload"]["state"]["done"], "half", "{anchor}");
    home.run(["the second thing"]).model(&server).finish();
    let asked = server.requests()[1].json().to_string();
    assert!(asked.contains("half-way") && !asked.contains("the first thing"), "{asked}");
}

#[test]
fn a_handoff_that_fails_leaves_no_interrupted_turn() {
    let home = home_with_bubs();
    home.bub(["tape", "handoff", "x", BUBS, "--state", "{"]).finish().refuses(&["--state"]);
    let about = json(&tape(&home, ["info", BUBS, "--json"]));
    assert_eq!((&about["entries"], &about["interrupted"]), (&32.into(), &serde_json::Value::Null), "{about}");
}

#[test]
fn a_fork_is_a_separate_tape_that_a_session_continues() {
    let home = home_with_bubs();
    let finished = tape(&home, ["fork", BUBS, "--to", "what-if", "--at", "30"]);
    assert!(finished.stdout.contains("has 30 entries") && finished.stdout.contains("run --session"), "{finished}");
    let (old, new) = (fs::read_to_string(golden()).unwrap_or_default(), home.tape_file("what-if"));
    let thirty: String = old.split_inclusive('\n').take(30).collect();
    assert_eq!(fs::read_to_string(&new).unwrap_or_default(), thirty, "the same bytes");
    let server = Server::new([Answer::text("going on")]);
    home.run(["and now", "--session-id", "what-if"]).model(&server).finish().says("[cli:local]\ngoing on\n");
    assert!(server.requests()[0].json().to_string().contains("Hello from fake model."));
    assert_eq!(fs::read_to_string(tape_file(&home, BUBS)).unwrap_or_default(), old, "the first one stays");
}

#[test]
fn a_fork_takes_sidecars_as_they_were_at_that_moment() {
    let home = home_with_bubs();
    let sidecar = |tape: &str| tape_file(&home, &format!("{tape}__sidecar__notes"));
    let dated = |id: u64, date: &str| message(id, "user", "note").replace("2026-11-21T02:36", date);
    fs::write(sidecar(BUBS), [dated(1, "2026-11-21T02:40"), dated(2, "2026-11-21T02:50")].concat()).expect("it can be");
    tape(&home, ["fork", BUBS, "--as", "all__of"]);
    assert_eq!(tapes::read(&sidecar("all__of")).len(), 2);
    tape(&home, ["fork", BUBS, "--as", "part__of", "--at", "12"]);
    assert_eq!(tapes::read(&sidecar("part__of")).len(), 1);
    assert_eq!(tapes::read(&tape_file(&home, "part__of")).len(), 12);
    home.bub(["tape", "fork", &format!("{BUBS}__sidecar__notes"), "--as", "x__y"]).finish().refuses(&["sidecar"]);
}

#[test]
fn a_fork_needs_a_target_and_only_one() {
    let home = home_with_bubs();
    for words in [&["fork", BUBS][..], &["fork", BUBS, "--as", "a__b", "--to", "s"]] {
        assert_eq!(home.bub(std::iter::once("tape").chain(words.iter().copied())).finish().code, Some(2), "{words:?}");
    }
}

#[test]
fn a_reset_archives_unless_discard_is_given() {
    let home = home_with_bubs();
    let done = json(&tape(&home, ["reset", BUBS, "--yes", "--json"]));
    let archive = done["archive"].as_str().unwrap_or_default();
    assert_eq!(fs::read(archive).ok(), fs::read(golden()).ok(), "{done}");
    assert!(!tape_file(&home, BUBS).exists());
    fs::copy(golden(), tape_file(&home, BUBS)).expect("a recorded tape");
    tape(&home, ["reset", BUBS, "--discard", "-y"]).says(&format!(
        "tape `{BUBS}` is empty\nits entries lie in the trash for a day; bub-wasm tape gc --now empties it\n"
    ));
    assert_eq!(files(&home).iter().filter(|name| name.ends_with(".bak")).count(), 1, "{:?}", files(&home));
}

#[test]
fn a_reset_waits_for_the_turn_that_runs() {
    let home = home();
    home.configure("lock_wait = 0.2");
    home.run(["hi"]).finish();
    let lease = home.tape_file("cli:local").with_extension("jsonl.turn");
    let held = fs::File::open(lease).expect("a turn has left its lease");
    held.lock().expect("it is free");
    home.bub(["tape", "reset", "--yes"]).finish().refuses(&["another turn"]);
    home.bub(["tape", "handoff", "x"]).finish().refuses(&["another turn"]);
    held.unlock().expect("it is ours");
    tape(&home, ["reset", "--yes"]);
}

#[test]
fn a_path_of_a_tape_can_be_changed_within_a_tape_directory() {
    let home = home_with_bubs();
    let path = tape_file(&home, BUBS);
    tape(&home, ["handoff", "by-path", path.to_str().expect("the path is UTF-8")]);
    assert_eq!(tapes::read(&path).len(), 34);
    fs::copy(golden(), home.workspace().join("alone.jsonl")).expect("the workspace can be written");
    home.bub(["tape", "handoff", "x", "./alone.jsonl"]).finish().refuses(&["`alone`", "`__`"]);
}
