//! `context`.

use super::{BUBS, files, home_with_bubs, json, tape};
use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::Value;
use std::fs;

fn messages(home: &Home, words: &[&str]) -> Vec<Value> {
    let finished = tape(home, ["context"].into_iter().chain(words.iter().copied()));
    finished.stdout.lines().map(|line| serde_json::from_str(line).expect("a message is JSON")).collect()
}

#[test]
fn the_context_equals_the_request_of_the_next_turn() {
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    let home = home();
    home.run(["first"]).model(&server).finish();
    tape(&home, ["handoff", "phase-2", "--state", "\"a state\""]);
    let shown = home.bub(["tape", "context", "--prompt", "second", "--json"]).model(&server).finish();
    assert_eq!(server.requests().len(), 1, "the model was asked\n{shown}");
    home.run(["second"]).model(&server).finish();
    let sent = server.requests()[1].json()["messages"].clone();
    let mut shown = json(&shown);
    // The prompt holds the second in which it was made.
    let last = shown.as_array_mut().and_then(|messages| messages.last_mut()).expect("the prompt");
    let text = last["content"].as_str().unwrap_or_default();
    assert!(text.starts_with("sender_id=human|channel=$cli|chat_id=local") && text.ends_with("second"), "{text}");
    *last = sent.as_array().and_then(|sent| sent.last()).expect("the prompt").clone();
    assert_eq!(shown, sent);
}

#[test]
fn nothing_is_written_by_looking() {
    let home = home_with_bubs();
    let before = (files(&home), fs::read(super::tape_file(&home, BUBS)).ok());
    let shown = messages(&home, &[BUBS, "--prompt", "hi"]);
    assert_eq!(shown[0]["role"], "system");
    assert_eq!(shown[1]["content"], "[Anchor created: phase-1]: {\"summary\": \"did things\"}");
    assert_eq!((files(&home), fs::read(super::tape_file(&home, BUBS)).ok()), before);
}

#[test]
fn a_session_without_a_tape_has_a_context_too() {
    let home = home();
    let shown = messages(&home, &["--prompt", "hello"]);
    let roles: Vec<&Value> = shown.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    assert!(!home.tape_file("cli:local").exists());
}

#[test]
fn another_selector_can_be_used() {
    let home = home_with_bubs();
    home.plugin("choosy", programs::CHOOSY);
    let builtins = messages(&home, &[BUBS, "--selector", "builtin"]);
    let choosys = tape(&home, ["context", BUBS, "--selector", "choosy"]).stdout;
    assert_eq!(tape(&home, ["context", BUBS]).stdout, choosys, "the latest one is in charge");
    let plain: Vec<String> = builtins.iter().map(Value::to_string).collect();
    assert_ne!(plain.join("\n"), choosys);
}

/// A command that only reads makes the index of a long tape, behind what it prints; the next one finds it.
#[test]
fn looking_at_a_long_tape_keeps_its_index() {
    const NAME: &str = "aaaa__bbbb";
    let lines: Vec<String> = (1..=20_000).map(|id| super::message(id, "user", "a thought of some length")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for words in [&["context", NAME][..], &["show", NAME, "--last", "1"], &["anchors", NAME], &["info", NAME]] {
        let home = super::home_with(NAME, &lines);
        let index = home.bub_home().join(format!("cache/index/{NAME}.index"));
        assert!(!index.exists());
        tape(&home, words.iter().copied());
        assert!(index.is_file(), "{words:?}");
    }
}
