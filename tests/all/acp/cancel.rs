//! How prompts and connections end.

use super::{Editor, PATIENCE, desk, messages, serving, until};
use bub_tests::{Answer, Home, Server, tape};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// A model that never comes to an end when it is told `for ever`.
fn model() -> Server {
    Server::ruled(|request| match super::last_line(&request.last_content()).contains("for ever") {
        true => Answer::stalled("it never"),
        false => Answer::text("here"),
    })
}

fn errors(home: &Home, session: &str) -> Vec<Value> {
    let file = home.tape_file(session);
    let entries = if file.exists() { tape::read(&file) } else { Vec::new() }.into_iter();
    entries.filter(|entry| entry["kind"] == "error").map(|entry| entry["payload"].clone()).collect()
}

/// A command that notes its process, and takes long.
fn long(home: &Home) -> Answer {
    let pid = home.workspace().join("pid");
    let command =
        format!("echo $$ > {}.part && mv {}.part {} && sleep 600", pid.display(), pid.display(), pid.display());
    Answer::tool_call("bash", &json!({ "cmd": command, "timeout_seconds": 600 }).to_string())
}

/// The folder of the process that [`long`] has started.
fn process(home: &Home) -> PathBuf {
    let pid = home.workspace().join("pid");
    until("the start of the program", || pid.exists());
    PathBuf::from(format!("/proc/{}", fs::read_to_string(pid).unwrap().trim()))
}

#[test]
fn a_cancelled_prompt_ends_as_cancelled_and_the_session_goes_on() {
    let home = desk(true);
    let model = model();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "for ever");
    until("the first piece", || editor.text(&session, "agent_message_chunk") == "it never");
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    assert_eq!(editor.stopped(id), "cancelled");
    assert_eq!(errors(&home, &session)[0]["kind"], "cancelled");
    assert_eq!(editor.say(&session, "still there?"), "end_turn");
    // By the id of the request, and where nothing runs.
    let id = editor.prompt(&session, "for ever");
    model.wait_for(3);
    editor.notify("$/cancel_request", &json!({ "requestId": id }));
    assert_eq!(editor.stopped(id), "cancelled");
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    editor.notify("session/cancel", &json!({ "sessionId": "acp:none" }));
    editor.notify("session/cancel", &json!({ "sessionId": 5 }));
    assert_eq!(editor.say(&session, "still there?"), "end_turn");
    editor.end();
}

#[test]
fn programs_end_with_the_prompt_that_started_them() {
    let home = desk(true);
    let model = Server::new([long(&home), Answer::text("here")]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "run it");
    let process = process(&home);
    assert!(process.exists());
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    assert_eq!(editor.stopped(id), "cancelled");
    until("the end of the program", || !process.exists());
    editor.end();
}

#[test]
fn a_question_that_waits_ends_with_its_prompt() {
    let home = desk(true);
    let model = Server::new([Answer::tool_call("fs_write", r#"{"path": "made.txt", "content": "x"}"#)]);
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "write it");
    let question = editor.question(0);
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    let outcome = json!({ "outcome": { "outcome": "cancelled" } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }));
    assert_eq!(editor.stopped(id), "cancelled");
    assert!(!home.workspace().join("made.txt").exists());
    editor.end();
}

#[test]
fn a_second_prompt_waits_for_the_first_and_a_cancellation_ends_both() {
    let home = desk(true);
    let model = model();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let (session, other) = (editor.session(&home.workspace()), editor.session(&home.workspace()));
    let first = editor.prompt(&session, "for ever");
    model.wait_for(1);
    let second = editor.prompt(&session, "me too");
    // Another session does not wait.
    assert_eq!(editor.say(&other, "and you?"), "end_turn");
    assert!(editor.messages().iter().all(|message| message["id"] != first && message["id"] != second));
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    assert_eq!(editor.stopped(first), "cancelled");
    assert_eq!(editor.stopped(second), "cancelled");
    editor.end();
}

#[test]
fn a_closed_session_is_cancelled_and_unknown() {
    let home = desk(true);
    let model = model();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "for ever");
    model.wait_for(1);
    assert!(editor.ask("session/close", &json!({ "sessionId": session }))["result"].is_object());
    assert_eq!(editor.stopped(id), "cancelled");
    let gone = editor.ask("session/prompt", &super::prompt(&session, &[json!({ "type": "text", "text": "hello" })]));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
    editor.end();
}

#[test]
fn closed_input_waits_a_while_for_answers() {
    let home = desk(true);
    let model = Server::new([Answer::tool_call("bash", r#"{"cmd": "sleep 0.3; echo late"}"#), Answer::text("done")]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "run it");
    editor.program.hush();
    let finished = editor.end();
    let answer = messages(&finished.stdout).into_iter().find(|message| message["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{finished}");
}

#[test]
fn closed_input_ends_a_turn_in_order() {
    let home = desk(true);
    let model = Server::new([long(&home)]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "run it");
    let process = process(&home);
    let begun = Instant::now();
    editor.program.hush();
    let finished = editor.end();
    assert!(begun.elapsed() < PATIENCE / 2, "{finished}");
    assert!(!process.exists());
    let answer = messages(&finished.stdout).into_iter().find(|message| message["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled", "{finished}");
    assert_eq!(errors(&home, &session)[0]["kind"], "cancelled");
    let journals = fs::read_dir(home.tapes_dir()).unwrap().flatten();
    assert_eq!(journals.filter(|file| file.file_name().to_string_lossy().ends_with(".journal")).count(), 0);
}

#[test]
fn closed_input_while_the_user_is_asked_denies_the_call() {
    let home = desk(true);
    let write = Answer::tool_call("fs_write", r#"{"path": "made.txt", "content": "x"}"#);
    let model = Server::new([write, Answer::text("done")]);
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    editor.prompt(&session, "write it");
    editor.question(0);
    editor.program.hush();
    let finished = editor.end();
    assert!(!home.workspace().join("made.txt").exists(), "{finished}");
}

#[test]
fn a_signal_ends_prompts_in_order() {
    let home = desk(true);
    let model = Server::new([long(&home)]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    editor.prompt(&session, "run it");
    let process = process(&home);
    editor.program.terminate();
    let finished = editor.program.finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!process.exists());
    assert_eq!(errors(&home, &session)[0]["kind"], "cancelled");
}

/// An editor that stops reading does not hold the program for ever.
#[test]
fn a_closed_output_ends_the_program() {
    let home = desk(true);
    let script = home.bub_home().join("start");
    home.bub(["acp"]).script(&script);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": super::hello(1) });
    let begun = Instant::now();
    let mut child = std::process::Command::new(&script)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, format!("{hello}\n").as_bytes()).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() && begun.elapsed() < PATIENCE / 2, "{status}");
}
