//! How calls and the program end: cancelled, with the client, by a signal, beside another process.

use super::{Client, PATIENCE, SESSION, desk, result, serving, until};
use bub_tests::{Answer, Home, Server, tape};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Writes its number, and runs for long.
const LONG: &str = "echo $$ > leader; while :; do sleep 0.1; done";

fn bash(cmd: &str) -> Value {
    json!({ "name": "bash", "arguments": { "cmd": cmd, "timeout_seconds": 600 } })
}

fn runs(home: &Home) {
    let file = home.workspace().join("leader");
    until("the command's file", || fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
}

fn is_gone(home: &Home) -> bool {
    let id = fs::read_to_string(home.workspace().join("leader")).expect("the command has written its number");
    !Path::new("/proc").join(id.trim()).exists()
}

fn errors(home: &Home) -> Vec<Value> {
    let entries = tape::read(&home.tape_file(SESSION)).into_iter();
    entries.filter(|entry| entry["kind"] == "error").map(|entry| entry["payload"].clone()).collect()
}

#[test]
fn a_call_is_cancelled_in_the_middle_and_its_program_ends() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let id = client.request("tools/call", &bash(LONG));
    runs(&home);
    let waiting = client.request("tools/call", &bash("echo never > never"));
    for id in [waiting, id] {
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    until("the end of the program", || is_gone(&home));
    let (went_well, text) = client.call("fs_read", &json!({ "path": "notes.txt" }));
    assert!(went_well, "the session is free: {text}");
    let finished = client.end();
    assert!(super::messages(&finished.stdout).iter().all(|message| message["id"] != id && message["id"] != waiting));
    assert!(!home.workspace().join("never").exists(), "it was cancelled before its turn came");
    assert_eq!(errors(&home).len(), 1, "the other one was no turn yet");
    assert_eq!(errors(&home)[0]["kind"], "cancelled");
    let entries = tape::read(&home.tape_file(SESSION));
    let results = entries.iter().filter(|entry| entry["kind"] == "tool_result").map(|entry| entry.to_string());
    assert!(results.into_iter().any(|result| result.contains("may")), "it may or may not have run: {entries:?}");
    assert!(entries.iter().all(|entry| entry["kind"] != "message"), "{entries:?}");
}

#[test]
fn cancelling_what_is_unknown_or_over_does_nothing() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let id = client.request("tools/call", &bash("echo one"));
    client.answer(id);
    for id in [json!(id), json!(99), json!("x"), json!(null), json!({})] {
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0);
    client.end();
}

#[test]
fn closed_input_lets_short_calls_answer() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let id = client.request("tools/call", &bash("sleep 0.3; echo late"));
    client.program.hush();
    let finished = client.end();
    let answer = super::messages(&finished.stdout).into_iter().find(|message| message["id"] == id);
    let (went_well, text) = result(&answer.expect("an answer"));
    assert!(went_well && text.contains("late"), "{finished}");
}

#[test]
fn closed_input_ends_a_turn_in_order() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::stalled("it never"));
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    let message = json!({ "name": "run_turn", "arguments": { "message": "for ever" } });
    client.request("tools/call", &message);
    model.wait_for(1);
    let begun = Instant::now();
    client.program.hush();
    let finished = client.end();
    assert!(begun.elapsed() < PATIENCE / 2, "{finished}");
    let entries = tape::read(&home.tape_file(SESSION));
    let said = entries.iter().find(|entry| entry["kind"] == "message").expect("the user's message is kept");
    assert!(said["payload"]["content"].as_str().is_some_and(|text| text.contains("for ever")), "{said}");
    assert_eq!(errors(&home)[0]["kind"], "cancelled");
    assert_eq!(fs::read_dir(home.tapes_dir()).unwrap().flatten().filter(is_journal).count(), 0, "nothing is left over");
}

fn is_journal(file: &fs::DirEntry) -> bool {
    file.file_name().to_string_lossy().ends_with(".journal")
}

#[test]
fn a_signal_ends_calls_in_order() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    client.request("tools/call", &bash(LONG));
    runs(&home);
    client.program.terminate();
    let finished = client.program.finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(is_gone(&home));
    assert_eq!(errors(&home)[0]["kind"], "cancelled");
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    let home = desk(true);
    let finished = serving(&home, &[]).finish();
    assert_eq!((finished.code, &*finished.stdout, &*finished.stderr), (Some(0), "", ""), "{finished}");
}

#[test]
fn a_client_that_begins_otherwise_is_told() {
    let home = desk(true);
    let mut client = Client { program: serving(&home, &[]).start(), last: 0 };
    let early = client.ask("tools/list", &json!({}));
    assert_eq!(early["error"]["code"], -32602, "{early}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let finished = client.program.finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert_eq!(finished.stderr, "error: the client sent another message before `initialize`\n");
}

#[test]
fn two_processes_serve_one_home() {
    let home = desk(true);
    let mut one = Client::begin(serving(&home, &[]));
    // The same session, and one of its own.
    let mut same = Client::begin(serving(&home, &[]));
    let mut other = Client::begin(home.bub(["mcp", "serve"]).spoken_to());
    let id = one.request("tools/call", &bash("echo one; sleep 0.5; echo first >> order"));
    let waiting = same.request("tools/call", &bash("echo second >> order"));
    assert!(other.call("fs_read", &json!({ "path": "notes.txt" })).0);
    assert!(result(&one.answer(id)).0);
    assert!(result(&same.answer(waiting)).0);
    for client in [one, same, other] {
        client.end();
    }
    let order = fs::read_to_string(home.workspace().join("order")).expect("both ran");
    assert_eq!(order.lines().count(), 2, "{order}");
    let entries = tape::read(&home.tape_file(SESSION));
    let results = entries.iter().filter(|entry| entry["kind"] == "tool_result");
    assert_eq!(results.count(), 2, "{entries:?}");
}

#[test]
fn a_session_without_a_plain_name_is_refused() {
    let home = desk(true);
    for session in ["", "temp/x", "a\nb"] {
        let finished = home.bub(["mcp", "serve", "--session", session]).finish();
        assert_eq!(finished.code, Some(1), "{finished}");
        assert!(finished.stderr.contains("a session's id has 1 to 256 bytes"), "{finished}");
    }
}
