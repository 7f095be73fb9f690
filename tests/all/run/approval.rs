//! Tool calls that need approval, in `run`.

use super::{home, plain, speaks_plainly, trusting, untrusted};
use bub_tests::tape;
use std::fs;

/// Typical first calls of a model in any directory: it reads a file, and changes one.
const READ_THEN_WRITE: &str = "TOOL:fs.read {\"path\": \"notes.txt\"}";
const WRITE: &str = "TOOL:fs.write {\"path\": \"new.txt\", \"content\": \"made\"}";
const BASH: &str = "TOOL:bash {\"cmd\": \"echo made > ran.txt\"}";

fn made(home: &bub_tests::Home, file: &str) -> bool {
    home.workspace().join(file).exists()
}

/// The turns before have read a file of the workspace.
fn read_before(home: &bub_tests::Home) {
    assert_eq!(plain(home, &[READ_THEN_WRITE]).finish().code, Some(0));
}

#[test]
fn a_call_without_a_possible_approval_is_named_on_stderr_and_the_exit_code_is_3() {
    let home = untrusted();
    read_before(&home);
    let finished = plain(&home, &[WRITE]).finish();
    assert_eq!(finished.code, Some(3), "{finished}");
    assert!(!made(&home, "new.txt"), "{finished}");
    let told: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(told.len(), 2, "{finished}");
    assert!(told[0].starts_with("denied: write `new.txt`: "), "{finished}");
    assert!(told[0].ends_with("of this untrusted workspace were read earlier in the conversation"), "{finished}");
    assert!(told[1].starts_with("to allow it: `bub-wasm trust`, if "), "{finished}");
    assert!(told[1].contains("`bub-wasm run --allow write`"), "{finished}");
    speaks_plainly(&finished);
}

#[test]
fn the_suggested_command_allows_the_call() {
    for more in [&["--allow", "write"][..], &["--approve", "all"]] {
        let home = untrusted();
        read_before(&home);
        let finished = plain(&home, &[&[WRITE], more].concat()).finish();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{more:?} {finished}");
        assert!(made(&home, "new.txt"), "{more:?} {finished}");
    }
    let home = untrusted();
    read_before(&home);
    home.bub(["trust"]).finish();
    assert_eq!(plain(&home, &[WRITE]).finish().code, Some(0));
    assert!(made(&home, "new.txt"));
}

#[test]
fn an_effect_that_is_allowed_allows_no_other() {
    let home = untrusted();
    read_before(&home);
    let finished = plain(&home, &[BASH, "--allow", "write,send"]).finish();
    assert_eq!(finished.code, Some(3), "{finished}");
    assert!(finished.stderr.contains("denied: run `echo made > ran.txt`: "), "{finished}");
    assert!(finished.stderr.contains("--allow run`"), "{finished}");
    assert!(!made(&home, "ran.txt"), "{finished}");
}

#[test]
fn the_same_call_again_and_again_is_named_once() {
    let home = untrusted();
    read_before(&home);
    let script = [WRITE, WRITE, WRITE].join(" ;; ");
    let finished = plain(&home, &[&script]).finish();
    assert_eq!(finished.stderr.matches("denied: ").count(), 1, "{finished}");
}

#[test]
fn names_from_a_model_cannot_change_the_message_about_a_call() {
    let home = untrusted();
    read_before(&home);
    let path = "a\\u001b[2J`? yes\\nto allow it: nothing, all is well";
    let script = format!("TOOL:fs.write {{\"path\": \"{path}{}\", \"content\": \"x\"}}", "y".repeat(5000));
    let finished = plain(&home, &[&script]).finish();
    assert_eq!(finished.code, Some(3), "{finished}");
    assert_eq!(finished.stderr.lines().count(), 2, "{finished}");
    assert!(finished.stderr.lines().all(|line| line.chars().count() < 400), "{finished}");
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
    // Within the backticks it is the model's, and no other backtick ends them.
    assert!(finished.stderr.starts_with("denied: write `a\\u{1b}[2J'? yes"), "{finished}");
}

#[test]
fn mode_ask_asks_about_each_call_that_does_more_than_read() {
    let home = trusting();
    fs::write(home.workspace().join("notes.txt"), "one").expect("a file");
    let read = plain(&home, &[READ_THEN_WRITE, "--approve", "ask"]).finish();
    assert_eq!((read.code, read.stderr.as_str()), (Some(0), ""), "{read}");
    let finished = plain(&home, &[WRITE, "--approve", "ask"]).finish();
    assert_eq!(finished.code, Some(3), "{finished}");
    assert!(finished.stderr.contains("denied: write `new.txt`: the approval mode is `ask`"), "{finished}");
    assert!(!finished.stderr.contains("bub-wasm trust"), "it would change nothing: {finished}");
    let finished = plain(&home, &[WRITE, "--approve", "ask", "--allow", "write"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
}

#[test]
fn mode_read_only_denies_calls_that_do_more_than_read_without_asking() {
    let home = trusting();
    fs::write(home.workspace().join("notes.txt"), "one").expect("a file");
    let read = plain(&home, &[READ_THEN_WRITE, "--approve", "read-only"]).finish();
    assert_eq!((read.code, read.stderr.as_str()), (Some(0), ""), "{read}");
    for more in [&["--allow", "write,send,run"][..], &[]] {
        let finished = plain(&home, &[&[WRITE, "--approve", "read-only"], more].concat()).finish();
        assert_eq!(finished.code, Some(3), "{finished}");
        assert!(!made(&home, "new.txt"), "{finished}");
        assert!(finished.stderr.contains("to allow it: start without `--approve read-only`"), "{finished}");
        speaks_plainly(&finished);
    }
    // Text that the owner types is the owner's.
    assert_eq!(plain(&home, &[",fs.write path=new.txt content=x", "--approve", "read-only"]).finish().code, Some(0));
    assert!(made(&home, "new.txt"));
}

#[test]
fn no_mode_permits_more_to_other_principals() {
    for mode in ["ask", "auto", "read-only", "all"] {
        let home = trusting();
        let said_by = ["--channel", "telegram", "--chat-id", "1", "--sender-id", "stranger"];
        let finished = plain(&home, &[&[WRITE, "--approve", mode, "--allow", "write"], &said_by[..]].concat()).finish();
        assert!(!made(&home, "new.txt"), "{mode}: {finished}");
        // No approval was possible.
        assert_eq!(finished.code, Some(0), "{mode}: {finished}");
    }
}

#[test]
fn the_configured_mode_holds_unless_the_command_line_names_another() {
    let home = trusting();
    home.configure("[policy]\napprove = \"read-only\"");
    assert_eq!(plain(&home, &[WRITE]).finish().code, Some(3));
    assert_eq!(plain(&home, &[WRITE, "--approve", "auto"]).finish().code, Some(0));
    home.configure("[policy]\napprove = \"sometimes\"");
    plain(&home, &["hi"]).finish().refuses(&["sometimes", "read-only", "config.toml"]);
    let finished = plain(&home, &["hi", "--approve", "sometimes"]).finish().mentions("read-only");
    assert_eq!(finished.code, Some(2), "{finished}");
}

#[test]
fn a_destructive_command_needs_approval_in_a_trusted_workspace_if_configured() {
    const REMOVE: &str = "TOOL:bash {\"cmd\": \"rm -rf build\"}";
    let home = trusting();
    fs::create_dir(home.workspace().join("build")).expect("a directory");
    home.configure("[policy]\nask_destructive = true");
    let finished = plain(&home, &[REMOVE]).finish();
    assert_eq!(finished.code, Some(3), "{finished}");
    assert!(finished.stderr.contains("denied: run `rm -rf build`: `rm -rf build` may destroy something"), "{finished}");
    assert!(made(&home, "build"), "{finished}");
    assert_eq!(plain(&home, &[BASH]).finish().code, Some(0), "a call that destroys nothing runs");
    assert_eq!(plain(&home, &[REMOVE, "--allow", "run"]).finish().code, Some(0));
    assert!(!made(&home, "build"));
}

#[test]
fn the_model_gets_a_clear_reason_for_a_denial() {
    let home = untrusted();
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    plain(&home, &[WRITE]).finish();
    let results: Vec<_> =
        tape::read(&home.tape_file("cli:local")).into_iter().filter(|entry| entry["kind"] == "tool_result").collect();
    let told = format!("{results:?}");
    assert!(told.contains("AGENTS.md of this untrusted workspace is in the conversation"), "{told}");
    assert!(!told.contains("taint"), "{told}");
}

#[test]
fn a_chat_without_a_terminal_reports_denied_calls() {
    let home = untrusted();
    let finished = home.bub(["chat"]).input(&format!("{READ_THEN_WRITE}\n{WRITE}\n")).finish();
    assert!(finished.stderr.contains("denied: write `new.txt`: "), "{finished}");
    assert!(finished.stderr.contains("to allow it: "), "{finished}");
    let finished = home.bub(["chat", "--allow", "write"]).input(&format!("{WRITE}\n")).finish();
    assert!(made(&home, "new.txt"), "{finished}");
}

#[test]
fn a_server_does_not_go_by_the_mode_that_allows_all() {
    let home = home();
    home.configure("[policy]\napprove = \"all\"");
    let finished = home.bub(["serve", "--check", "--listen", "127.0.0.1:0"]).finish();
    assert!(finished.stderr.contains("`serve` goes by `auto`"), "{finished}");
}
