//! A turn that ends in order while a tool runs: its deadline, Ctrl-C, a polite kill, a client that leaves. The tape
//! says what had begun, as a recovery after a crash does, and no program of it is left.

use crate::home;
use bub_tests::{Answer, Home, Serve, Server, Started, tape};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// No test waits longer for anything; the awaited state comes within seconds even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes a file, starts a child that leaves the process group, and hears no SIGTERM.
const STUBBORN: &str = "trap '' TERM; echo $$ > leader; setsid sh -c 'trap \"\" TERM; echo $$ > apart; while :; do sleep 0.1; done' & \
    until [ -s apart ]; do sleep 0.05; done; echo done > written; while :; do sleep 0.1; done";

fn bash(cmd: &str) -> Answer {
    Answer::tool_call("bash", &json!({ "cmd": cmd, "timeout_seconds": 600 }).to_string())
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the command has written its file.
fn runs(home: &Home) {
    let file = home.workspace().join("written");
    until("the command's file", || fs::read_to_string(&file).is_ok_and(|text| text == "done\n"));
}

/// Whether the process runs whose id is in that file.
fn is_alive(file: &Path) -> bool {
    let id = fs::read_to_string(file).expect("the command has written its number");
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", id.trim())) else { return false };
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next().map(str::to_owned));
    !matches!(state.as_deref(), None | Some("Z" | "X"))
}

fn is_gone(home: &Home) -> bool {
    ["leader", "apart"].iter().all(|file| !is_alive(&home.workspace().join(file)))
}

/// The conversation at the end of a tape: kinds and payloads of what is no event.
fn end_of(home: &Home, session: &str) -> Vec<(String, Value)> {
    let entries = tape::read(&home.tape_file(session)).into_iter();
    let said = entries.filter(|entry| !matches!(entry["kind"].as_str(), Some("event" | "anchor" | "system")));
    said.map(|entry| (entry["kind"].as_str().unwrap_or_default().to_owned(), entry["payload"].clone())).collect()
}

/// The tape ends with the user's message, the call with what is not known of it, and why the turn ended.
#[track_caller]
fn records_the_interrupted_call(home: &Home, session: &str, tool: &str, kind: &str) {
    let end = end_of(home, session);
    let kinds: Vec<&str> = end.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["message", "tool_call", "tool_result", "error"], "{end:?}");
    assert_eq!(end[0].1["role"], "user", "{end:?}");
    let calls = end[1].1["calls"].as_array().expect("calls");
    assert_eq!((calls.len(), &calls[0]["id"], &calls[0]["function"]["name"]), (1, &json!("call_0"), &json!(tool)));
    let unknown = json!({ "kind": "temporary", "message": "interrupted; it may or may not have run" });
    assert_eq!(end[2].1, json!({ "results": [unknown] }));
    assert_eq!(end[3].1["kind"], kind, "{end:?}");
}

/// `run`, ended by `ends` while the command runs.
fn interrupted(home: &Home, ends: impl FnOnce(&Started<'_>)) {
    let server = Server::new([bash(STUBBORN)]);
    let started = home.run(["do it"]).model(&server).start();
    runs(home);
    ends(&started);
    let finished = started.finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(is_gone(home), "a program outlived the run\n{finished}");
}

#[test]
fn ctrl_c_while_bash_runs_keeps_the_call_and_kills_processes_that_ignore_sigterm() {
    let home = home();
    interrupted(&home, |started| started.interrupt());
    records_the_interrupted_call(&home, "cli:local", "bash", "cancelled");
    // The next request holds the call and its unknown outcome.
    let server = Server::new([Answer::text("on")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\non\n");
    let messages = server.requests()[0].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the result of the call");
    assert_eq!(result["tool_call_id"], "call_0");
    assert!(result["content"].as_str().is_some_and(|text| text.contains("may or may not have run")), "{result}");
}

#[test]
fn sigterm_while_bash_runs_keeps_the_call_and_kills_processes_that_ignore_sigterm() {
    let home = home();
    interrupted(&home, |started| started.terminate());
    records_the_interrupted_call(&home, "cli:local", "bash", "cancelled");
}

#[test]
fn a_deadline_while_bash_runs_keeps_the_call_and_kills_processes_that_ignore_sigterm() {
    let home = home();
    home.configure("[limits]\nturn_deadline_ms = 15000");
    interrupted(&home, |_| {});
    records_the_interrupted_call(&home, "cli:local", "bash", "temporary");
}

#[test]
fn an_orderly_end_records_a_call_as_a_crash_does() {
    let (orderly, crashed) = (home(), home());
    interrupted(&orderly, |started| started.interrupt());
    let server = Server::new([bash("echo $$ > leader; echo $$ > apart; echo done > written; exec sleep 600")]);
    let started = crashed.run(["do it"]).model(&server).start();
    runs(&crashed);
    started.kill();
    // Only the test ends the children that a killed process leaves.
    let leader = fs::read_to_string(crashed.workspace().join("leader")).expect("its number");
    std::process::Command::new("kill").args(["-9", leader.trim()]).status().expect("kill runs");
    crashed.run(["ECHO:next"]).finish().says("[cli:local]\nnext\n");
    let of = |home: &Home, kind: &str| {
        let found = end_of(home, "cli:local").into_iter().find(|(found, _)| found == kind);
        let mut payload = found.expect("it is on the tape").1;
        // The commands differ.
        if let Some(arguments) = payload.pointer_mut("/calls/0/function/arguments") {
            *arguments = Value::Null;
        }
        payload
    };
    for kind in ["tool_call", "tool_result"] {
        assert_eq!(of(&orderly, kind), of(&crashed, kind), "{kind}");
    }
}

#[test]
fn entries_of_an_earlier_step_are_not_reported_as_unknown() {
    let home = home();
    // The output of the first command must not cause a question about the second.
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    // The stand-in gives each call the same id.
    let server = Server::new([bash("echo first"), bash(STUBBORN)]);
    let started = home.run(["do it"]).model(&server).start();
    runs(&home);
    started.interrupt();
    started.finish();
    let end = end_of(&home, "cli:local");
    let kinds: Vec<&str> = end.iter().map(|(kind, _)| kind.as_str()).collect();
    let step = ["tool_call", "tool_result"];
    let expected: Vec<&str> = ["message"].into_iter().chain(step).chain(step).chain(["error"]).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind != "message").count(), 5, "{end:?}");
    assert_eq!(kinds.first(), expected.first(), "{end:?}");
    let results: Vec<&Value> =
        end.iter().filter(|(kind, _)| kind == "tool_result").map(|(_, payload)| payload).collect();
    assert_eq!(results[0]["results"], json!(["first"]));
    assert_eq!(results[1]["results"][0]["message"], "interrupted; it may or may not have run");
}

#[test]
fn a_second_ctrl_c_ends_all_programs() {
    let home = home();
    let server = Server::new([bash(STUBBORN)]);
    let started = home.run(["do it"]).model(&server).start();
    runs(&home);
    started.interrupt();
    thread::sleep(Duration::from_millis(300));
    started.interrupt();
    let finished = started.finish();
    assert_eq!(finished.code, Some(130), "{finished}");
    until("the end of the group", || !is_alive(&home.workspace().join("leader")));
    // For the next test on this machine.
    let apart = fs::read_to_string(home.workspace().join("apart")).expect("its number");
    let _ = std::process::Command::new("kill").args(["-9", apart.trim()]).status();
}

#[test]
fn a_typed_command_that_is_interrupted_is_kept_out_of_the_conversation() {
    let home = home();
    let started = home.run([format!(",{STUBBORN}").as_str()]).start();
    runs(&home);
    started.interrupt();
    let finished = started.finish();
    assert!(is_gone(&home), "{finished}");
    let entries = tape::read(&home.tape_file("cli:local"));
    let calls: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "tool_call").collect();
    assert_eq!((calls.len(), &calls[0]["meta"]["context"]), (1, &json!(false)), "{entries:?}");
    let server = Server::new([Answer::text("on")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\non\n");
    let messages = server.requests()[0].messages();
    assert!(messages.iter().all(|message| message["role"] != "tool"), "{messages:?}");
}

#[test]
fn a_chat_turn_that_is_interrupted_keeps_the_call() {
    let home = home();
    let server = Server::new([bash(STUBBORN)]);
    let mut started = home.bub(["chat"]).model(&server).spoken_to().start();
    started.say("do it");
    runs(&home);
    started.interrupt();
    until("the end of the turn", || is_gone(&home));
    let finished = started.finish();
    records_the_interrupted_call(&home, "cli_session", "bash", "cancelled");
    assert!(finished.stderr.contains("the turn was ended before it was done"), "{finished}");
}

fn serving<'h>(home: &'h Home, server: &Server) -> Serve<'h> {
    Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(server), &home.bub_home())
}

/// Posts a message without a key, and leaves once the command runs.
fn leave_while_it_runs(home: &Home, serve: &Serve<'_>, session: &str) {
    let body = json!({ "content": "do it", "session_id": session });
    let stream = serve.ask("POST", "/v1/turns").json(&body).open();
    runs(home);
    drop(stream);
    until("the end of the turn", || {
        let file = home.tape_file(session);
        file.exists() && tape::read(&file).iter().any(|entry| entry["kind"] == "error")
    });
}

#[test]
fn a_client_that_leaves_while_bash_runs_finds_the_call_on_the_tape() {
    let home = home();
    let server = Server::new([bash(STUBBORN), Answer::text("on")]);
    let serve = serving(&home, &server);
    leave_while_it_runs(&home, &serve, "http:a");
    records_the_interrupted_call(&home, "http:a", "bash", "cancelled");
    // The session is free again, and the server goes on.
    let said = serve.post("/v1/turns", &json!({ "content": "go on", "session_id": "http:a" }));
    assert_eq!(said["model_output"], "on", "{said}");
    until("the end of the programs", || is_gone(&home));
}

#[test]
fn a_client_that_leaves_while_a_turn_inside_the_turn_runs_bash_leaves_no_program() {
    for session in ["temp", "inherit", "http:kept"] {
        let home = home();
        let task = json!({ "prompt": "you do it", "session": session });
        let server = Server::new([Answer::tool_call("subagent", &task.to_string()), bash(STUBBORN)]);
        let serve = serving(&home, &server);
        leave_while_it_runs(&home, &serve, "http:a");
        let calls = |session: &str| -> Vec<String> {
            let end = end_of(&home, session).into_iter().filter(|(kind, _)| kind == "tool_call");
            end.map(|(_, payload)| payload["calls"][0]["function"]["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        assert!(calls("http:a").contains(&"subagent".to_owned()), "{session}: {:?}", end_of(&home, "http:a"));
        match session {
            "inherit" => {
                assert!(calls("http:a").contains(&"bash".to_owned()), "{:?}", end_of(&home, "http:a"));
                let said = end_of(&home, "http:a").iter().any(|(_, payload)| {
                    payload["content"].as_str().is_some_and(|text| text.ends_with("\ndo it") || text == "do it")
                });
                assert!(said, "the message is lost: {:?}", end_of(&home, "http:a"));
            }
            "http:kept" => records_the_interrupted_call(&home, "http:kept", "bash", "cancelled"),
            _ => {}
        }
        until("the end of the programs", || is_gone(&home));
        drop(serve);
    }
}
