//! `run_turn`: a whole turn, with progress and cancellation.

use super::{Client, SESSION, desk, result, serving, until};
use bub_tests::{Answer, Gate, Home, Server, tape};
use serde_json::{Value, json};
use std::sync::Arc;

fn turn(message: &str) -> Value {
    json!({ "name": "run_turn", "arguments": { "message": message } })
}

fn in_session(message: &str, session: &str) -> Value {
    json!({ "name": "run_turn", "arguments": { "message": message, "session": session } })
}

fn kinds(home: &Home, session: &str) -> Vec<String> {
    let file = home.tape_file(session);
    let entries = if file.exists() { tape::read(&file) } else { Vec::new() }.into_iter();
    entries.map(|entry| entry["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_turn_answers_and_goes_on_in_its_session() {
    let home = desk(true);
    let model = Server::new([Answer::text("good morning"), Answer::text("you greeted me"), Answer::text("a new one")]);
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0);
    assert_eq!(result(&client.ask("tools/call", &turn("hello"))), (true, "good morning".to_owned()));
    assert_eq!(result(&client.ask("tools/call", &turn("what did I say?"))), (true, "you greeted me".to_owned()));
    let other = in_session("and now?", "mcp:other");
    assert_eq!(result(&client.ask("tools/call", &other)), (true, "a new one".to_owned()));
    client.end();
    let requests = model.requests();
    let texts = |at: usize| requests[at].messages().iter().map(Value::to_string).collect::<String>();
    assert!(texts(1).contains("good morning") && !texts(1).contains("one\\ntwo"), "{}", texts(1));
    assert!(!texts(2).contains("good morning"), "{}", texts(2));
    assert!(kinds(&home, "mcp:other").contains(&"message".to_owned()));
}

#[test]
fn progress_is_sent_where_the_client_asks_for_it() {
    let home = desk(true);
    let read = Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#);
    let model = Server::new([read, Answer::text("it says two"), Answer::text("quietly")]);
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    for token in [json!("a token"), json!(7)] {
        let mut params = turn("read it");
        params["_meta"] = json!({ "progressToken": token });
        let answer = client.ask("tools/call", &params);
        assert!(result(&answer).0, "{answer}");
        let messages = client.messages();
        let of_token = messages.iter().filter(|message| message["params"]["progressToken"] == token);
        let progress: Vec<&Value> = of_token.map(|message| &message["params"]).collect();
        assert!(!progress.is_empty(), "{token}: {messages:?}");
        let counts: Vec<f64> = progress.iter().filter_map(|params| params["progress"].as_f64()).collect();
        assert!(counts.windows(2).all(|two| two[0] < two[1]), "it grows: {counts:?}");
        let said: String = progress.iter().filter_map(|params| params["message"].as_str()).collect();
        match token.is_string() {
            true => assert!(said.contains("calls `fs.read`") && said.contains("it says two"), "{said}"),
            false => assert!(said.contains("quietly"), "{said}"),
        }
    }
    client.end();
}

#[test]
fn a_failing_model_is_a_result_that_says_so() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::refusal("the model is cross"));
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    let (went_well, text) = result(&client.ask("tools/call", &turn("hello")));
    assert!(!went_well && text.contains("cross"), "{text}");
    assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0, "it goes on");
    client.end();
    assert!(kinds(&home, SESSION).contains(&"error".to_owned()));
}

#[test]
fn a_slow_model_holds_up_neither_lists_nor_other_sessions() {
    let home = desk(true);
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model = Server::ruled(move |request| match request.last_content().contains("slowly") {
        true => Answer::gated("at ", &held, "last"),
        false => Answer::text("at once"),
    });
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    let slow = client.request("tools/call", &turn("slowly"));
    model.wait_for(1);
    assert!(client.ask("tools/list", &json!({}))["result"]["tools"].is_array());
    let quick = result(&client.ask("tools/call", &in_session("quickly", "mcp:quick")));
    assert_eq!(quick, (true, "at once".to_owned()));
    // A call of the same session waits its turn.
    let waiting = client.request("tools/call", &json!({ "name": "fs_read", "arguments": { "path": "notes.txt" } }));
    assert!(client.messages().iter().all(|message| message["id"] != waiting && message["id"] != slow));
    gate.open();
    assert_eq!(result(&client.answer(slow)), (true, "at last".to_owned()));
    assert!(result(&client.answer(waiting)).0);
    client.end();
}

#[test]
fn a_cancelled_turn_ends_without_an_answer_and_says_so_on_its_tape() {
    let home = desk(true);
    let model = Server::ruled(|request| match request.last_content().contains("for ever") {
        true => Answer::stalled("it never"),
        false => Answer::text("here"),
    });
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    let id = client.request("tools/call", &turn("for ever"));
    model.wait_for(1);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    until("the end of the turn", || kinds(&home, SESSION).contains(&"error".to_owned()));
    assert_eq!(result(&client.ask("tools/call", &turn("still there?"))), (true, "here".to_owned()));
    let finished = client.end();
    let messages = super::messages(&finished.stdout);
    assert!(messages.iter().all(|message| message["id"] != id), "{finished}");
    let entries = tape::read(&home.tape_file(SESSION));
    let error = entries.iter().find(|entry| entry["kind"] == "error").expect("it says why it ended");
    assert_eq!(error["payload"]["kind"], "cancelled", "{error}");
}

#[test]
fn arguments_of_a_turn_are_checked_with_a_line_about_them() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    for (arguments, says) in [
        (json!({}), "needs the argument `message`"),
        (json!({ "message": "  " }), "needs the argument `message`"),
        (json!({ "message": 1 }), "`message` of `run_turn` is a text"),
        (json!({ "message": "hi", "what": 1 }), "no `what`"),
    ] {
        let (went_well, text) = client.call("run_turn", &arguments);
        assert!(!went_well && text.contains(says), "{arguments}: {text}");
    }
    for session in ["", "temp/x", "a\u{0}b"] {
        let answer = client.ask("tools/call", &in_session("hi", session));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    client.end();
}

/// What one session has read stays with the client, which may bring it into another.
#[test]
fn text_from_outside_taints_the_other_sessions_of_the_client() {
    let home = desk(false);
    let write = |path: &str| Answer::tool_call("fs_write", &json!({ "path": path, "content": "x" }).to_string());
    let model = Server::ruled(move |request| {
        let last = request.last_content();
        match (last.contains("write it"), last.contains("read it")) {
            (true, _) => write("by-turn.txt"),
            (_, true) => Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#),
            _ => Answer::text("done"),
        }
    });
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    // From a call to a turn elsewhere.
    assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0);
    assert!(result(&client.ask("tools/call", &in_session("write it", "mcp:far"))).0);
    assert!(!home.workspace().join("by-turn.txt").exists());
    client.end();
    // From a turn elsewhere to a call.
    let mut client = Client::begin(home.bub(["mcp", "serve"]).spoken_to().model(&model));
    assert!(result(&client.ask("tools/call", &in_session("read it", "mcp:reader"))).0);
    let (went_well, text) = client.call("fs_write", &json!({ "path": "by-call.txt", "content": "x" }));
    assert!(!went_well && text.contains("needs the owner's word"), "{text}");
    client.end();
}
