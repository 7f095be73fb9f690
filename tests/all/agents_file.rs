//! How a workspace's `AGENTS.md` reaches the model.

use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::process::Command;

/// Stands in whatever `AGENTS.md` leads to.
const MARK: &str = "swordfish-42";

/// The request of one turn, as it was sent.
#[track_caller]
fn sent(home: &Home) -> String {
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    server.requests()[0].body.clone()
}

#[track_caller]
fn is_not_sent(home: &Home) {
    let request = sent(home);
    assert!(!request.contains(MARK), "{request}");
    assert!(request.len() < 100_000, "the request has {} bytes", request.len());
}

fn file(home: &Home) -> std::path::PathBuf {
    home.workspace().join("AGENTS.md")
}

#[test]
fn a_plain_file_is_quoted_in_the_system_prompt() {
    let home = home();
    fs::write(file(&home), format!("The word is {MARK}.")).expect("the workspace can be written");
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let messages = server.requests()[0].messages();
    let system = messages[0]["content"].as_str().unwrap_or_default();
    assert!(messages[0]["role"] == "system" && system.contains(MARK), "{messages:?}");
}

#[test]
fn a_link_to_a_file_of_the_workspace_is_followed() {
    let home = home();
    fs::write(home.workspace().join("NOTES.md"), MARK).expect("the workspace can be written");
    symlink("NOTES.md", file(&home)).expect("the workspace can be written");
    assert!(sent(&home).contains(MARK));
}

#[test]
fn a_link_to_the_users_keys_is_not_followed() {
    let home = home();
    fs::write(home.bub_home().join(".env"), format!("BUB_MARK={MARK}\n")).expect("the home can be written");
    symlink(home.bub_home().join(".env"), file(&home)).expect("the workspace can be written");
    is_not_sent(&home);
}

#[test]
fn a_link_out_of_the_workspace_is_not_followed() {
    let home = home();
    let outside = home.workspace().with_file_name("outside.md");
    fs::write(&outside, MARK).expect("the file can be written");
    symlink("../outside.md", file(&home)).expect("the workspace can be written");
    is_not_sent(&home);
}

#[test]
fn a_home_inside_the_workspace_stays_the_users_own() {
    let home = home();
    let inside = home.workspace().join("home");
    fs::create_dir(&inside).expect("the workspace can be written");
    fs::write(inside.join(".env"), format!("BUB_MARK={MARK}\n")).expect("the home can be written");
    symlink("home/.env", file(&home)).expect("the workspace can be written");
    let server = Server::new([Answer::text("hello")]);
    let run = home.run(["hi"]).model(&server).env("BUB_HOME", &inside);
    run.finish().says("[cli:local]\nhello\n");
    assert!(!server.requests()[0].body.contains(MARK));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let home = home();
    let made = Command::new("mkfifo").arg(file(&home)).status().expect("mkfifo runs");
    assert!(made.success());
    is_not_sent(&home);
}

#[test]
fn a_directory_is_passed_over() {
    let home = home();
    fs::create_dir(file(&home)).expect("the workspace can be written");
    is_not_sent(&home);
}

#[test]
fn of_a_hundred_megabytes_only_the_beginning_is_read() {
    let home = home();
    let mut agents = File::create(file(&home)).expect("the workspace can be written");
    agents.write_all("x".repeat(64 << 10).as_bytes()).expect("the workspace can be written");
    agents.write_all(MARK.as_bytes()).expect("the workspace can be written");
    agents.seek(SeekFrom::Start(100 << 20)).expect("the file can be long");
    agents.write_all(MARK.as_bytes()).expect("the workspace can be written");
    is_not_sent(&home);
}

#[test]
fn later_steps_ask_for_the_system_prompt_again_once_a_tool_has_changed_something() {
    let home = home();
    home.scripted("part", programs::SCRIPTED, "system-prompt = \"a part of it\"");
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    fs::write(home.workspace().join("notes.txt"), "a line\n").expect("the workspace can be written");
    let reads = || Answer::tool_call("fs_read", r#"{"path":"notes.txt"}"#);
    let writes = Answer::tool_call("fs_write", &format!(r#"{{"path":"AGENTS.md","content":"The word is {MARK}."}}"#));
    let server = Server::new([reads(), reads(), reads(), writes, reads(), Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    let system = |request: usize| server.requests()[request].messages()[0]["content"].as_str().map(str::to_owned);
    assert!(system(3).is_some_and(|system| system.contains("a part of it") && !system.contains(MARK)), "{finished}");
    assert!(system(4).is_some_and(|system| system.contains("a part of it") && system.contains(MARK)), "{finished}");
    assert_eq!(system(4), system(5));
    // For what the person said, for the first step behind it, and behind what was written.
    assert_eq!(finished.saw_hook("system-prompt").len(), 3, "{finished}");
}
