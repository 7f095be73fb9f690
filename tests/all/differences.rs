//! Where this project differs from the original on purpose, as far as the repeated runs do not show it. The numbers are
//! those of the list in the design.

use crate::home;
use bub_tests::{Answer, Server, tape};
use serde_json::{Value, json};
use std::fs;

/// Number 3.
#[test]
fn a_failed_turn_keeps_the_message_so_that_the_next_turn_knows_of_it() {
    let home = home();
    let broken = || Answer::Whole(400, "application/json", r#"{"error": {"message": "no"}}"#.to_owned());
    let server = Server::new([broken(), Answer::text("now")]);
    home.run(["remember the milk"]).model(&server).finish().fails("no");
    home.run(["what was it"]).model(&server).finish().says("[cli:local]\nnow\n");
    let messages = server.requests()[1].messages();
    let kept =
        |message: &&Value| message["content"].as_str().is_some_and(|content| content.ends_with("remember the milk"));
    assert_eq!(messages.iter().filter(kept).count(), 1, "{messages:?}");
}

/// Number 4.
#[test]
fn a_new_session_is_not_shown_its_first_anchor() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let roles: Vec<_> = server.requests()[0].messages().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user"]);
}

/// Number 8.
#[test]
fn malformed_arguments_become_a_result_that_the_model_can_read() {
    let home = home();
    let server = Server::new([Answer::tool_call("bash", r#"{"cmd": "echo"#), Answer::text("sorry")]);
    home.run(["try it"]).model(&server).finish().says("[cli:local]\nsorry\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    assert!(result["content"].as_str().is_some_and(|text| text.contains("invalid")), "{result}");
}

/// Number 9.
#[test]
fn a_system_prompt_that_changed_is_written_again() {
    let home = home();
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    let say = |text| home.run([text]).model(&server).finish();
    say("a");
    say("b");
    fs::write(home.workspace().join("AGENTS.md"), "Be brief.").expect("the workspace can be written");
    say("c");
    let tape = tape::read(&home.tape_file("cli:local"));
    let prompts: Vec<_> = tape.iter().filter(|entry| entry["kind"] == "system").collect();
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[1]["payload"]["content"].as_str().is_some_and(|text| text.contains("Be brief.")));
}

/// Number 12.
#[test]
fn the_key_is_in_no_log_no_error_and_on_no_tape() {
    let home = home();
    let key = "sk-very-secret";
    let told = json!({ "error": { "message": format!("the key {key} is wrong"), "type": "auth" } }).to_string();
    let server = Server::new([Answer::Whole(401, "application/json", told)]);
    let run = home.run(["hi"]).model(&server).env("BUB_API_KEY", key).env("RUST_LOG", "debug");
    let finished = run.finish().fails("401");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-very-secret"));
    assert!(!finished.stderr.contains(key), "{finished}");
    let tape = fs::read_to_string(home.tape_file("cli:local")).expect("the failed turn is on the tape");
    assert!(!tape.contains(key), "{tape}");
}
