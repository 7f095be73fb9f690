//! Conversations of one program, as the other sees them.

use super::reader;
use crate::home;
use bub_tests::golden::Case;
use bub_tests::{Answer, Home, Server, tape};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const SESSION: &str = "cli:local";

/// A home in which the original had the first turns of a recorded case.
fn after(case: &Case, turns: usize) -> (Home, PathBuf) {
    let home = home();
    let theirs = fs::read_dir(case.tapes_dir(turns)).expect("the case has tapes").next().expect("one");
    fs::create_dir_all(home.tapes_dir()).expect("the home can be written");
    let ours = home.tape_file(SESSION);
    fs::copy(theirs.expect("it can be read").path(), &ours).expect("the tape can be copied");
    (home, ours)
}

fn texts(messages: &[Value]) -> Vec<String> {
    let content = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    messages.iter().map(content).collect()
}

/// Whether all of them occur, in this order.
#[track_caller]
fn in_order(messages: &[Value], wanted: &[&str]) {
    let texts = texts(messages);
    let mut rest = texts.iter();
    for wanted in wanted {
        assert!(rest.any(|text| text.ends_with(wanted)), "`{wanted}` is not in its place in {texts:#?}");
    }
}

fn anchors(home: &Home) -> Vec<String> {
    let entries = tape::read(&home.tape_file(SESSION)).into_iter().filter(|entry| entry["kind"] == "anchor");
    entries.map(|entry| entry["payload"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_tape_moves_from_bub_to_this_program_and_back_without_loss() {
    let (home, file) = after(&Case::new("plain_two_turns"), 2);
    let before = reader::messages(&file);
    let server = Server::new([
        Answer::text("ours at first"),
        Answer::tool_call("memory_save", r#"{"content":"likes tea","scope":"session"}"#),
        Answer::text("kept"),
        Answer::text("and on"),
    ]);
    home.run(["our first"]).model(&server).finish().says("[cli:local]\nours at first\n");
    home.run(["remember that I like tea"]).model(&server).finish().says("[cli:local]\nkept\n");
    let finished = home.run([",memory.daily content='typed' scope=session"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");

    let seen = reader::messages(&file);
    assert_eq!(seen[..before.len()], before, "Bub sees its earlier messages first");
    in_order(&seen, &["our first", "ours at first", "remember that I like tea", "saved to long-term memory", "kept"]);
    assert_eq!(anchors(&home), ["session/start"], "no anchor of ours moves the view of Bub");

    reader::turn(&file, "theirs again", "answered there");
    home.run(["our last"]).model(&server).finish().says("[cli:local]\nand on\n");
    let sent = server.requests().pop().expect("the model was asked").messages();
    let history = texts(&before);
    let said: Vec<&str> = history.iter().map(String::as_str).collect();
    let ours = ["our first", "ours at first", "remember that I like tea", "kept"];
    let all = [said.as_slice(), &ours, &["theirs again", "answered there", "our last"]].concat();
    in_order(&sent, &all);
    assert!(texts(&sent)[0].contains("likes tea"), "the session's memory is in the system prompt: {}", sent[0]);

    in_order(&reader::messages(&file), &[all.as_slice(), &["and on"]].concat());
    assert!(fs::read_to_string(&file).is_ok_and(|text| !text.contains("memory/open") && !text.contains("memory/seal")));
}

#[test]
fn a_turn_without_memory_writes_no_section() {
    let (home, _) = after(&Case::new("plain_two_turns"), 1);
    let server = Server::new([Answer::text("yes"), Answer::text("yes")]);
    for line in ["one", "two"] {
        home.run([line]).model(&server).finish().says("[cli:local]\nyes\n");
    }
    let files = fs::read_dir(home.tapes_dir()).expect("it is there").flatten();
    let evidence = ["receipts", "chain"].map(|sidecar| home.sidecar_file(SESSION, sidecar));
    let is_tape = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl") && !evidence.contains(path);
    let tapes: Vec<PathBuf> = files.map(|file| file.path()).filter(is_tape).collect();
    assert_eq!(tapes, [home.tape_file(SESSION)]);
    assert_eq!(anchors(&home), ["session/start"]);
}

/// A handoff is the one anchor that is meant to begin a new phase, in both programs.
#[test]
fn a_handoff_of_ours_begins_a_phase_of_bubs_too() {
    let (home, file) = after(&Case::new("plain_two_turns"), 2);
    let server = Server::new([
        Answer::tool_call("tape_handoff", r#"{"name":"phase-1","summary":"the old is done"}"#),
        Answer::text("begun"),
        Answer::text("further"),
    ]);
    home.run(["begin anew"]).model(&server).finish().says("[cli:local]\nbegun\n");
    let finished = home.run([",memory.save content=x scope=session"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    home.run(["go on"]).model(&server).finish().says("[cli:local]\nfurther\n");
    assert_eq!(anchors(&home), ["session/start", "phase-1"]);
    let seen = reader::messages(&file);
    in_order(&seen, &["begin anew", "begun", "go on", "further"]);
    assert!(!texts(&seen).iter().any(|text| text.contains("Hello from fake model")), "{seen:#?}");
    let calls = seen.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    assert!(calls.into_iter().any(|call| call["function"]["name"] == "tape_handoff"), "{seen:#?}");
}

/// Entries of earlier versions stay readable, and are not written again.
#[test]
fn a_section_on_the_tape_itself_is_read_and_continued_in_the_sidecar() {
    let (home, file) = after(&Case::new("plain_two_turns"), 2);
    let last = reader::entries(&file).last().and_then(|entry| entry["id"].as_u64()).expect("entries");
    let zone = [
        ("anchor", json!({ "name": "memory/open", "state": { "version": 3 } })),
        ("event", json!({ "name": "memory.long_term", "data": { "content": "likes chess", "updated_at": "" } })),
        ("anchor", json!({ "name": "memory/seal", "state": { "version": 3 } })),
    ];
    let lines = (last + 1..).zip(zone).map(|(id, (kind, payload))| {
        let meta = json!({ "zone": true, "plugin": "memory" });
        let entry =
            json!({ "id": id, "kind": kind, "payload": payload, "meta": meta, "date": "2026-11-22T00:00:00+00:00" });
        tape::python_json(&entry) + "\n"
    });
    let text = fs::read_to_string(&file).expect("it can be read") + &lines.collect::<String>();
    fs::write(&file, &text).expect("it can be written");

    let server = Server::new([
        Answer::text("hello"),
        Answer::tool_call("tape_search", r#"{"query":"chess","kinds":["event"]}"#),
        Answer::text("done"),
    ]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let sent = server.requests()[0].messages();
    assert!(texts(&sent)[0].contains("likes chess"), "{}", sent[0]);
    in_order(&sent, &["Hello from fake model.", "hi"]);
    let finished = home.run([",memory.daily content=y scope=session date=2026-11-22"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(anchors(&home), ["session/start", "memory/open", "memory/seal"]);
    let sidecar = tape::read(&home.sidecar_file(SESSION, "memory"));
    assert_eq!(sidecar[0]["payload"]["state"], json!({ "version": 4 }));
    assert_eq!(sidecar[1]["payload"]["data"]["content"], "likes chess");
    // The current section is in the sidecar now: a search of the tape skips the earlier ones.
    home.run(["find it"]).model(&server).finish().says("[cli:local]\ndone\n");
    let found = server.requests().pop().expect("asked").messages();
    let found = found.iter().rfind(|message| message["role"] == "tool").expect("a result").to_string();
    assert!(!found.contains("likes chess"), "{found}");
}

/// Line by line: the byte order mark that an editor leaves at the beginning of a file.
#[test]
fn a_leading_byte_order_mark_is_ignored() {
    let (home, file) = after(&Case::new("plain_two_turns"), 2);
    let text = fs::read_to_string(&file).expect("it can be read");
    fs::write(&file, format!("\u{feff}{text}")).expect("it can be written");
    let entries = text.lines().count();
    let verified = home.bub(["tape", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
    let info = home.bub(["tape", "info", "--json"]).finish();
    let info: Value = serde_json::from_str(&info.stdout).expect("JSON");
    assert_eq!(info["entries"], entries, "{info}");
    assert_eq!(info["unreadable"], 0, "{info}");
    let shown = home.bub(["tape", "show", "--json"]).finish();
    assert!(shown.stdout.contains("session/start"), "{shown}");
    let server = Server::new([Answer::text("yes")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\nyes\n");
    in_order(&server.requests()[0].messages(), &["Hello from fake model.", "go on"]);
    let after = fs::read_to_string(&file).expect("it can be read");
    assert!(after.starts_with(&format!("\u{feff}{text}")), "no line changed");
    assert_eq!(after.matches("session/start").count(), text.matches("session/start").count(), "it begins once");
}
