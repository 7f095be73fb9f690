//! Invalid input of people and peers: one clear line, exit code 1 or 2, and no partial result.

use crate::home;
use bub_tests::{Answer, Server};
use std::fs;
use std::net::TcpListener;
use std::path::Path;

#[test]
fn a_workspace_that_is_not_there() {
    let home = home();
    home.bub(["--workspace", "/no/such/place", "run", "hi"]).finish().refuses(&["/no/such/place"]);
}

#[test]
fn a_workspace_that_is_a_file() {
    let home = home();
    fs::write(home.workspace().join("notes.txt"), "").expect("the workspace can be written");
    home.bub(["-w", "notes.txt", "run", "hi"]).finish().refuses(&["notes.txt"]);
}

#[test]
fn no_message() {
    assert_eq!(home().bub(["run"]).finish().code, Some(2));
}

#[test]
fn an_unknown_option() {
    let finished = home().run(["hi", "--loud"]).finish().mentions("--loud");
    assert_eq!(finished.code, Some(2), "{finished}");
}

#[test]
fn a_configuration_that_is_no_toml() {
    let home = home();
    home.configure("[plugins\nbuiltin = ");
    home.run(["hi"]).finish().refuses(&["config.toml"]);
}

#[test]
fn a_configuration_with_an_unknown_key() {
    let home = home();
    home.configure("[plugins.builtin]\nenable = false");
    home.run(["hi"]).finish().refuses(&["config.toml", "enable"]);
}

#[test]
fn a_number_that_is_no_number() {
    let home = home();
    home.run(["hi"]).env("BUB_MAX_STEPS", "many").finish().refuses(&["BUB_MAX_STEPS", "many"]);
}

#[test]
fn an_unknown_provider() {
    let home = home();
    let run = home.run(["hi"]).env("BUB_MODEL", "acme:model").env("BUB_API_KEY", "sk-fake");
    run.finish().refuses(&["acme"]);
}

#[test]
fn a_model_without_a_provider() {
    let home = home();
    let run = home.run(["hi"]).env("BUB_MODEL", "gpt").env("BUB_API_KEY", "sk-fake");
    run.finish().refuses(&["gpt"]);
}

#[test]
fn a_provider_without_a_key() {
    let home = home();
    home.run(["hi"]).env("BUB_MODEL", "openai:gpt").finish().refuses(&["BUB_API_KEY"]);
}

#[test]
fn a_server_that_is_down() {
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    let home = home();
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:gpt").env("BUB_API_KEY", "sk-fake");
    run.env("BUB_API_BASE", format!("http://{address}/v1")).finish().refuses(&["openai:gpt", "127.0.0.1"]);
}

/// The beginning of an answer.
const HALF: &str = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Hel\"}}]}\n\ndata: {\"choi";

#[test]
fn events_that_are_cut_off_in_the_middle() {
    let home = home();
    let server = Server::new([Answer::CutOff(HALF.to_owned())]);
    home.run(["hi"]).model(&server).finish().refuses(&["openai:fake-model"]);
    assert_eq!(server.requests().len(), 1, "a finished answer is not requested again");
}

#[test]
fn events_that_end_without_an_end() {
    let home = home();
    let events = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Hel\"}}]}\n\n";
    let server = Server::new([Answer::Whole(200, "text/event-stream", events.to_owned())]);
    home.run(["hi"]).model(&server).finish().refuses(&["openai:fake-model"]);
}

#[test]
fn an_event_that_is_no_json() {
    let home = home();
    let server = Server::new([Answer::Whole(200, "text/event-stream", "data: {\"choices\": [\n\n".to_owned())]);
    home.run(["hi"]).model(&server).finish().refuses(&["openai:fake-model"]);
}

#[test]
fn an_answer_that_is_no_json() {
    let home = home();
    let server = Server::new([Answer::Whole(200, "application/json", "<html>".to_owned())]);
    home.run(["hi"]).model(&server).finish().refuses(&["openai:fake-model"]);
}

#[test]
fn a_directory_of_tapes_that_is_a_file() {
    let home = home();
    fs::write(home.tapes_dir(), "").expect("the home can be written");
    home.run(["ECHO:hi"]).finish().refuses(&["tapes"]);
    assert_eq!(fs::read(home.tapes_dir()).expect("it is still a file"), b"");
}

#[test]
fn a_tape_that_cannot_be_written() {
    let home = home();
    let tape = home.tape_file("cli:local");
    fs::create_dir_all(&tape).expect("the home can be written");
    home.run(["ECHO:hi"]).finish().refuses(&[&home.workspace_half()]);
    assert_eq!(fs::read_dir(&tape).expect("it is still a directory").count(), 0);
}

/// The limit of a file's size in the next test: enough for the images of the guests, which are files to the system.
#[cfg(unix)]
const FULL: u64 = 4 << 20;

#[cfg(unix)]
#[test]
fn a_turn_that_does_not_fit_on_the_disk_leaves_the_tape_as_it_was() {
    let home = home();
    home.run(["ECHO:one"]).finish().says("[cli:local]\none\n");
    let tape = home.tape_file("cli:local");
    fill_up(&tape, FULL - 1000);
    let before = fs::read(&tape).expect("the first turn is on the tape");
    // A turn takes some 3,000 bytes: it is cut off in the middle. `ulimit` counts in half KiB.
    let full = home.run(["ECHO:two"]).under(&format!("trap '' XFSZ; ulimit -f {}", FULL / 512)).finish();
    let full = full.refuses(&[&home.workspace_half()]);
    assert_eq!(fs::read(&tape).expect("it is there").len(), before.len(), "something half-written stays\n{full}");
    assert!(fs::read(&tape).expect("it is there") == before, "the tape was changed\n{full}");
    home.run(["ECHO:three"]).finish().says("[cli:local]\nthree\n");
}

/// Puts events that no model sees on a tape until it has that length.
#[cfg(unix)]
fn fill_up(tape: &Path, length: u64) {
    let mut id = bub_tests::tape::read(tape).len();
    let mut text = fs::read_to_string(tape).expect("the tape can be read");
    while (text.len() as u64) < length {
        id += 1;
        let room = (length as usize - text.len()).saturating_sub(150).min(60_000);
        text += &format!(
            "{{\"id\": {id}, \"kind\": \"event\", \"payload\": {{\"name\": \"pad\", \"data\": \"{}\"}}, \
             \"meta\": {{\"context\": false}}, \"date\": \"2026-11-21T02:39:18+00:00\"}}\n",
            "x".repeat(room)
        );
    }
    fs::write(tape, text).expect("the tape can be written");
}
