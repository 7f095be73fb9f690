//! A home that does not exist yet, and whose parents are missing too.

use crate::home;
use bub_tests::{Finished, Home, Serve};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A place for a home, two directories below one that exists.
fn missing(home: &Home) -> PathBuf {
    home.workspace().with_file_name("no").join("such").join("home")
}

/// Runs the program with a home that is not there.
fn fresh(home: &Home, arguments: &[&str]) -> Finished {
    home.bub(arguments.iter().copied()).env("BUB_HOME", missing(home)).finish()
}

#[track_caller]
fn is_private(dir: &Path) {
    let mode = fs::metadata(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())).permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "{}", dir.display());
}

#[test]
fn serve_check_passes_on_a_fresh_home_without_a_model() {
    let home = home();
    let checked = fresh(&home, &["serve", "--check"]);
    assert_eq!(checked.code, Some(0), "{checked}");
    assert!(checked.stdout.contains("ready to serve at 127.0.0.1:8420"), "{checked}");
    assert!(checked.stdout.contains("no model is configured"), "{checked}");
    assert_eq!(checked.stderr, "");
    // Under any umask, what is made on the way is the user's alone.
    is_private(&missing(&home));
    is_private(missing(&home).parent().unwrap());
}

#[test]
fn serve_answers_on_a_fresh_home() {
    let home = home();
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).env("BUB_HOME", missing(&home)).under("umask 000");
    let serve = Serve::start(run, &missing(&home));
    let answer = serve.post("/v1/turns", &serde_json::json!({ "content": "hello", "session_id": "http:a" }));
    assert!(answer.to_string().contains("offline:demo"), "{answer}");
    assert_eq!(serve.end().code, Some(0));
    is_private(&missing(&home));
    is_private(&missing(&home).join("tapes"));
}

#[test]
fn run_chat_and_commands_that_write_make_a_fresh_home() {
    for arguments in [
        &["run", "hello"][..],
        &["chat"],
        &["trust"],
        &["plugin", "grant", "memory"],
        &["secret", "set", "weather", "--host", "api.weather.example", "--value-stdin"],
    ] {
        let home = home();
        let run = home.bub(arguments.iter().copied()).env("BUB_HOME", missing(&home));
        let finished = run.input("some words\n").finish();
        assert_eq!(finished.code, Some(0), "{arguments:?}\n{finished}");
        is_private(&missing(&home));
        is_private(missing(&home).parent().unwrap());
    }
}

#[test]
fn commands_that_only_read_make_nothing() {
    for arguments in [
        &["doctor"][..],
        &["doctor", "--config"],
        &["hooks"],
        &["plugin", "list"],
        &["plugin", "inspect", "memory"],
        &["plugin", "trust", "--list"],
        &["tape", "list"],
        &["tape", "context"],
        &["tape", "gc"],
        &["usage"],
        &["trust", "--list"],
        &["secret", "list"],
    ] {
        let home = home();
        let finished = fresh(&home, arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}\n{finished}");
        let top = missing(&home).parent().and_then(Path::parent).map(Path::to_owned).unwrap();
        assert!(!top.exists(), "{arguments:?} made `{}`\n{finished}", top.display());
    }
}

#[test]
fn commands_that_only_read_work_where_no_home_can_be_made() {
    // No user can make a directory there, not even root.
    let place = "/proc/no/home";
    for arguments in [&["doctor"][..], &["plugin", "list"], &["tape", "list"], &["hooks"]] {
        let home = home();
        let finished = home.bub(arguments.iter().copied()).env("BUB_HOME", place).finish();
        assert_eq!(finished.code, Some(0), "{arguments:?}\n{finished}");
    }
    for arguments in [&["run", "hello"][..], &["serve", "--check"], &["chat"]] {
        let home = home();
        let refused = home.bub(arguments.iter().copied()).env("BUB_HOME", place).finish();
        refused.refuses(&["the home `/proc/no/home` cannot be created"]);
    }
}

/// The values of a key in the systemd unit of the guide, in all of its sections.
fn unit(key: &str) -> Vec<String> {
    let page = include_str!("../../docs/src/guide/operations.md");
    let unit = page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has a unit");
    let values = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    values.map(str::to_owned).collect()
}

#[test]
fn the_documented_systemd_unit_starts_on_a_fresh_home() {
    let home = home();
    // A user who has the program and nothing else.
    let user = home.workspace().with_file_name("new user");
    fs::create_dir_all(&user).unwrap();
    let user_text = user.to_str().unwrap();
    let words =
        |line: &str| -> Vec<String> { line.split_whitespace().map(|word| word.replace("%h", user_text)).collect() };
    let program = format!("{user_text}/.cargo/bin/bub-wasm");
    let run = |arguments: &[String]| {
        let arguments = arguments.iter().map(String::as_str);
        home.bub(arguments).env("HOME", &user).env("BUB_HOME", "")
    };
    let before = unit("ExecStartPre");
    assert!(!before.is_empty());
    for line in before {
        let words = words(&line);
        if words[0] == program {
            let checked = run(&words[1..]).finish();
            assert_eq!(checked.code, Some(0), "{line}\n{checked}");
        } else {
            let status = Command::new(&words[0]).args(&words[1..]).status().unwrap();
            assert!(status.success(), "{line}");
        }
    }
    let start = unit("ExecStart").pop().expect("the unit starts something");
    let mut words = words(&start);
    assert_eq!(words.remove(0), program);
    // At a port that no other test has.
    words.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
    let serve = Serve::start(run(&words), &user.join(".bub"));
    let answer = serve.post("/v1/turns", &serde_json::json!({ "content": "hello", "session_id": "http:a" }));
    assert!(answer.to_string().contains("hello"), "{answer}");
    assert_eq!(serve.end().code, Some(0));
}
