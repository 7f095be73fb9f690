//! What the program and Bub do to a tape is no tampering.

use super::{SESSION, audit, bash, is_tampered, is_whole};
use crate::home;
use bub_test_support::postgres::Postgres;
use bub_tests::{Home, tape};
use std::fs::{self, OpenOptions};
use std::io::Write;

/// A turn that writes to the tape of the workspace, which its sessions share.
const REMEMBER: &str = r#"TOOL:memory.add {"content": "three", "scope": "workspace"}"#;

fn tape_name(home: &Home) -> String {
    let file = home.tape_file(SESSION);
    file.file_stem().expect("a name").to_string_lossy().into_owned()
}

fn does(home: &Home, arguments: &[&str]) {
    let finished = home.bub(arguments.iter().copied()).finish();
    assert_eq!(finished.code, Some(0), "{arguments:?}: {finished}");
}

#[test]
fn tape_commands_leave_a_tape_that_verifies() {
    let home = home();
    for text in ["one", "two", REMEMBER] {
        home.run([text, "--allow", "write"]).finish().answers();
    }
    is_whole(&home);
    let name = tape_name(&home);
    let entries = tape::read(&home.tape_file(SESSION));
    let message =
        entries.iter().find(|entry| entry["payload"]["content"].as_str().is_some_and(|text| text.ends_with("one")));
    let id = message.expect("the message")["id"].to_string();
    for command in [
        &["tape", "handoff", "next", &name][..],
        &["sessions", "rename", SESSION, "a name"],
        &["tape", "fork", &name, "--to", "copy"],
        &["tape", "erase", &name, &id, "--yes"],
        &["tape", "gc"],
        &["tape", "reset", &name, "--yes"],
    ] {
        does(&home, command);
        is_whole(&home);
        home.run(["more"]).finish().answers();
        assert_eq!(is_whole(&home)["tampered"], false, "after {command:?}");
    }
    home.run(["more", "--session", "copy"]).finish().answers();
    does(&home, &["tape", "reset", "--discard", "--yes", &name]);
    is_whole(&home);
}

#[test]
fn a_store_that_was_copied_verifies_and_goes_on() {
    let home = home();
    home.run(["one"]).finish().answers();
    does(&home, &["store", "copy", "files", "sqlite:tapes.db"]);
    home.configure("tape_store = \"sqlite:tapes.db\"");
    let verified = is_whole(&home);
    assert_eq!(verified["tapes"][0]["unchained"], 0, "{verified:#}");
    home.run(["two"]).finish().answers();
    let verified = is_whole(&home);
    assert_eq!(verified["tapes"][0]["unchained"], 0, "{verified:#}");
}

#[test]
fn entries_of_bub_are_unchained_until_the_next_turn() {
    let home = home();
    home.run(["one"]).finish().answers();
    let entries = tape::read(&home.tape_file(SESSION));
    let id = entries.len() + 1;
    let line = format!(
        r#"{{"id": {id}, "kind": "message", "payload": {{"role": "user", "content": "by Bub"}}, "meta": {{}}, "date": "2026-11-26T10:00:00+00:00"}}"#
    );
    let mut file = OpenOptions::new().append(true).open(home.tape_file(SESSION)).expect("the tape");
    file.write_all(format!("{line}\n").as_bytes()).expect("it can be written");
    assert_eq!(is_whole(&home)["tapes"][0]["unchained"], 1);
    home.run(["two"]).finish().answers();
    assert_eq!(is_whole(&home)["tapes"][0]["unchained"], 0);
}

#[test]
fn a_tape_from_before_the_chain_is_unchained_until_it_is_signed() {
    let home = home();
    home.configure("[audit]\nchain = false");
    for _ in 0..12 {
        home.run(["one"]).finish().answers();
    }
    home.configure("[audit]\nchain = true");
    home.run(["two"]).finish().answers();
    let verified = is_whole(&home);
    assert!(verified["tapes"][0]["unchained"].as_u64().expect("a number") > 64, "{verified:#}");
    assert_eq!(audit(&home, &["sign"]).code, Some(0));
    assert_eq!(is_whole(&home)["tapes"][0]["unchained"], 0);
    let tape = home.tape_file(SESSION);
    let text = fs::read_to_string(&tape).expect("a tape");
    fs::write(&tape, text.replacen("one", "0ne", 1)).expect("it can be written");
    is_tampered(&home, "was changed");
}

#[test]
fn a_turn_that_was_cut_off_and_recovered_verifies() {
    for step in ["commit.begun", "commit.block@40", "commit.written", "commit.merged", "commit.end", "end.stored"] {
        let home = home();
        home.run(["one"]).finish().answers();
        let cut = home.run([bash("true").as_str(), "--allow", "run"]).env("BUB_FAILPOINT", step).finish();
        assert_ne!(cut.code, Some(0), "{step}: {cut}");
        is_whole(&home);
        home.run(["two"]).finish().answers();
        let verified = is_whole(&home);
        assert_eq!(verified["tapes"][0]["unchained"], 0, "{step}: {verified:#}");
    }
}

#[test]
fn turns_of_two_processes_at_once_are_one_chain_each() {
    let home = home();
    home.run(["one"]).finish().answers();
    let runs: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|session| home.run([REMEMBER, "--session", session, "--allow", "write"]).start())
        .collect();
    let same: Vec<_> = ["two", "three"].iter().map(|text| home.run([*text]).start()).collect();
    for run in runs.into_iter().chain(same) {
        let finished = run.finish();
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    let verified = is_whole(&home);
    for tape in verified["tapes"].as_array().expect("tapes") {
        assert_eq!(tape["unchained"], 0, "{verified:#}");
    }
}

#[test]
fn tapes_in_postgresql_have_a_chain_if_it_is_turned_on() {
    let Some(postgres) = Postgres::shared() else { return };
    let home = home();
    home.configure(&format!("tape_store = {:?}\n[audit]\nchain = true\nreceipts = true", postgres.database()));
    home.run([bash("true").as_str(), "--allow", "run"]).finish().answers();
    home.run(["two"]).finish().answers();
    let verified = is_whole(&home);
    assert_eq!(verified["tapes"][0]["unchained"], 0, "{verified:#}");
    assert!(verified["tapes"][0]["entries"].as_u64().is_some_and(|entries| entries > 10), "{verified:#}");
    does(&home, &["tape", "reset", "--session", SESSION, "--yes"]);
    is_whole(&home);
    home.run(["three"]).finish().answers();
    let verified = is_whole(&home);
    assert_eq!(verified["tapes"][0]["unchained"], 0, "{verified:#}");
}
