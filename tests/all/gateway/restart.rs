//! A process that dies, and the next one.

use super::{echo, heard, posting, serving, start};
use bub_tests::{Answer, Server, tape};
use serde_json::json;

const HELLO: &str = "arrivals = [{ id = \"1\", chat = \"7\", content = \"hello\" }]\nwait = 60000\nflags = [\"polls\"]\ncursor = '\"read\"'\n";

/// Killed at that step, then started again: the message has its turn once, and its answer is delivered.
#[track_caller]
fn goes_on(step: &str, requests: usize) {
    let home = posting(HELLO);
    let model = echo();
    // It may be gone before it says where it serves.
    serving(&home, &model).env("BUB_FAILPOINT", step).finish();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    let said = serve.end();
    assert_eq!(said.stderr.matches(r#""send":"#).count(), 1, "{step}: {}", said.stderr);
    assert_eq!(heard(&home, "poster:7"), ["hello"], "{step}");
    assert_eq!(model.requests().len(), requests, "{step}");
}

#[test]
fn an_accepted_message_that_was_not_started_has_its_turn() {
    goes_on("gateway.taken", 1);
}

#[test]
fn an_interrupted_turn_is_started_again() {
    goes_on("gateway.begun", 1);
}

#[test]
fn a_turn_on_its_tape_is_not_repeated_and_its_answer_is_delivered() {
    goes_on("gateway.ran", 1);
}

#[test]
fn an_answer_that_was_written_down_is_delivered() {
    goes_on("gateway.ended", 1);
}

#[test]
fn a_channel_continues_from_its_cursor() {
    let home = posting(HELLO);
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.end();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""poll":"\"read\"""#);
    serve.end();
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_turn_that_was_interrupted_in_front_of_the_model_leaves_its_first_attempt_out_of_context() {
    let home = posting(HELLO);
    let silent = Server::ruled(|_| Answer::Silence);
    let serve = start(&home, serving(&home, &silent));
    silent.wait_for(1);
    serve.kill();
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.end();
    assert_eq!(heard(&home, "poster:7"), ["hello"]);
    let tape = tape::read(&home.tape_file("poster:7"));
    let again = |entry: &&serde_json::Value| entry["payload"]["name"] == "turn.recovered";
    assert!(tape.iter().find(again).is_some_and(|entry| entry["payload"]["data"]["again"] == true), "{tape:#?}");
}

#[test]
fn a_tool_that_may_have_had_an_effect_is_not_repeated_and_the_sender_is_informed() {
    let home = posting(HELLO);
    home.configure("[channels.poster]\nowners = [\"me\"]");
    home.configure(
        "[plugins.poster.config]\narrivals = [{ id = \"1\", chat = \"7\", sender = \"me\", content = \"hello\" }]",
    );
    let marker = home.workspace().join("ran");
    let command = format!("echo ran >> {}; sleep 60", marker.display());
    let call = json!({ "cmd": command }).to_string();
    let model = Server::ruled(move |_| Answer::tool_call("bash", &call));
    let serve = start(&home, serving(&home, &model));
    let begun = std::time::Instant::now();
    while !marker.exists() {
        assert!(begun.elapsed().as_secs() < 60, "the tool did not run");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    serve.kill();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for("interrupted while `bash` ran");
    serve.end();
    assert_eq!(std::fs::read_to_string(marker).unwrap(), "ran\n");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_request_with_a_key_that_was_cut_off_is_answered_when_it_is_made_again() {
    let home = posting("flags = [\"webhook\"]");
    let silent = Server::ruled(|_| Answer::Silence);
    let serve = start(&home, serving(&home, &silent));
    let body = json!({ "content": "hello", "session_id": "s" });
    let _cut = serve.ask("POST", "/v1/turns").header("idempotency-key", "k").json(&body).open();
    silent.wait_for(1);
    serve.kill();
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    let said = serve.ask("POST", "/v1/turns").header("idempotency-key", "k").json(&body).send().ok();
    assert_eq!(said["model_output"], "you said: hello");
    let again = serve.ask("POST", "/v1/turns").header("idempotency-key", "k").json(&body).send().ok();
    assert_eq!(again, said);
    serve.end();
    assert_eq!((heard(&home, "s"), model.requests().len()), (vec!["hello".to_owned()], 1));
}
