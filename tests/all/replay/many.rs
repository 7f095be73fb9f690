//! Many turns, elsewhere: 1,000 in the full tier, a fourth of them in each test, so that they run side by side.

use super::{files, recording};
use bub_test_support::tier::in_full;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Turns of each test.
fn count() -> usize {
    in_full(250, 10)
}

/// Turns with tools, memory, errors and commands, in conversations of ten.
fn turns(home: &Home, count: usize) {
    home.scripted("a", programs::SCRIPTED, "system-prompt = \"be brief\"\nload-state = { mood = \"good\" }");
    fs::write(home.workspace().join("notes.txt"), "a line\n".repeat(20)).expect("a file");
    let server = Server::ruled(|request| {
        let messages = request.messages();
        let last = messages.last().expect("there are messages");
        let content = last["content"].as_str().unwrap_or_default();
        let number = content.rsplit(' ').next().and_then(|word| word.parse::<usize>().ok());
        match number.filter(|_| last["role"] == "user").map(|number| number % 5) {
            Some(0) => Answer::tool_call("fs_read", &json!({ "path": "notes.txt" }).to_string()),
            Some(1) => Answer::tool_call("tape_search", &json!({ "query": "number" }).to_string()),
            Some(2) => Answer::tool_call("memory_save", &json!({ "content": content }).to_string()),
            _ => Answer::text("well \u{202e}then"),
        }
    });
    let mut number = 0;
    while number < count {
        let end = (number + 10).min(count);
        let line = |number: usize| match number % 10 {
            8 => ",tape.info\n".to_owned(),
            9 => ",nonsense.tool x\n".to_owned(),
            _ => format!("say something of number {number}\n"),
        };
        let lines: String = (number..end).map(line).collect();
        let session = format!("chat:{number}");
        home.bub(["chat", "--session", &session, "--allow", "write"]).model(&server).input(&lines).finish();
        number = end;
    }
}

/// Records that many turns, and replays them in another home, under another name and in another time zone.
#[track_caller]
fn are_identical_elsewhere(home: Home) {
    let count = count();
    turns(&home, count);
    assert_eq!(files(&home).len(), count);
    let elsewhere = tempfile::tempdir().expect("a directory");
    let (program, copy) = (elsewhere.path().join("another-name"), elsewhere.path().join("a home"));
    fs::hard_link(env!("CARGO_BIN_EXE_bub-wasm"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_bub-wasm"), &program).map(drop))
        .expect("a second name");
    let copied = Command::new("cp").arg("-r").args([home.bub_home(), copy.clone()]).status().expect("cp runs");
    assert!(copied.success());
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).expect("it is ours");
    // Nothing of the first home is left to read.
    drop(home);
    let replayed = Command::new(&program)
        .args(["replay", "--turns", "100000", "--home"])
        .arg(&copy)
        .env_clear()
        .env("TZ", "Asia/Tokyo")
        .env("HOME", elsewhere.path())
        .env("PATH", "/nowhere")
        .env("BUB_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"))
        .current_dir(elsewhere.path())
        .output()
        .expect("it starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&replayed.stdout), String::from_utf8_lossy(&replayed.stderr));
    let others: Vec<&str> = stdout.lines().filter(|line| !line.contains("  identical  (")).collect();
    assert_eq!(others, [format!("{count} of {count} turns identical")], "{stderr}");
    assert!(replayed.status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn turns_with_the_default_selector() {
    are_identical_elsewhere(recording());
}

#[test]
fn turns_with_the_context_builder() {
    let home = recording();
    home.configure("selector = \"context-builder\"");
    are_identical_elsewhere(home);
}

#[test]
fn turns_in_which_a_plugin_breaks() {
    let home = recording();
    home.plugin("broken", programs::FAULT_PANIC).configure("[plugins.broken]\non_fault = \"skip\"");
    are_identical_elsewhere(home);
}

#[test]
fn turns_that_plugins_rewrite() {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    home.scripted("b", programs::SCRIPTED_STREAM, "before-llm-call = { say = \"and more\" }");
    are_identical_elsewhere(home);
}
