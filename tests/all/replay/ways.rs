//! Turns that come in other ways than from `run`, and those of the golden cases: each replays identical.

use super::{are_identical, files, name, recording};
use crate::mcp_server::{Client, result, serving};
use bub_tests::golden::Case;
use bub_tests::{Answer, Serve, Server, programs};
use serde_json::{Value, json};

#[test]
fn a_turn_that_was_steered_over_http() {
    let home = recording();
    home.scripted("porter", programs::SCRIPTED, "admit-message = \"steer\"");
    // The first step calls a tool, so that there is a second one to be steered.
    let model = Server::ruled(|request| match request.messages().last().map(|last| last["role"].clone()) {
        Some(role) if role == "user" && request.last_content().ends_with("first") => {
            std::thread::sleep(std::time::Duration::from_millis(600));
            Answer::tool_call("tape_info", "{}")
        }
        _ => Answer::text("done"),
    });
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&model);
    let serve = Serve::start(run, &home.bub_home());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| serve.post("/v1/turns", &json!({ "content": "first", "session_id": "s" })));
        model.wait_for(1);
        let second = serve.post("/v1/turns", &json!({ "content": "and be quick", "session_id": "s" }));
        assert_eq!(second["model_output"], "done", "{second}");
        assert_eq!(first.join().expect("it is answered")["model_output"], "done");
    });
    serve.end();
    assert_eq!(model.requests().len(), 2);
    assert!(model.requests()[1].body.contains("and be quick"));
    // The message that steered is a part of the turn that it steered.
    are_identical(&home, 1);
    let blamed = home.bub(["blame", &name(&files(&home)[0]), "--json"]).finish();
    let blamed: Value = serde_json::from_str(&blamed.stdout).unwrap_or_else(|error| panic!("{error}: {blamed}"));
    let sources = blamed[1]["sources"].to_string();
    assert!(blamed[1]["body"].to_string().contains("and be quick") && sources.contains("\"sender\""), "{sources}");
}

#[test]
fn turns_of_an_mcp_client() {
    let home = recording();
    std::fs::write(home.workspace().join("notes.txt"), "one\ntwo\n").expect("a file");
    let read = Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#);
    let model = Server::new([read, Answer::text("it says two"), Answer::text("good night")]);
    let mut client = Client::begin(serving(&home, &[]).model(&model));
    for (message, answer) in [("read it", "it says two"), ("bye", "good night")] {
        let turn = json!({ "name": "run_turn", "arguments": { "message": message } });
        assert_eq!(result(&client.ask("tools/call", &turn)), (true, answer.to_owned()));
    }
    client.end();
    are_identical(&home, 2);
}

#[test]
fn turns_that_are_streamed() {
    let home = recording();
    home.scripted("a", programs::SCRIPTED_STREAM, r#"run-model-stream = [{ reasoning = "hm" }, "ans", "wered"]"#);
    home.run(["hi"]).finish().says("[cli:local]\nanswered\n");
    home.remove_plugin("a");
    let model = Server::ruled(|_| Answer::text("well, then"));
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&model), &home.bub_home());
    let asked = serve.ask("POST", "/v1/turns").header("accept", "text/event-stream");
    let said = asked.json(&json!({ "content": "hi", "session_id": "s" })).send();
    assert!(said.status == 200 && said.body.contains("event: ") && said.body.contains("then"), "{}", said.body);
    serve.end();
    home.scripted("a", programs::SCRIPTED_STREAM, r#"run-model-stream = [{ reasoning = "hm" }, "ans", "wered"]"#);
    are_identical(&home, 2);
}

#[test]
fn turns_of_the_golden_cases_whose_requests_have_a_source_for_each_byte() {
    let cases = [
        Case::new("plain_two_turns"),
        Case::new("tool_call_next_turn"),
        Case::new("tool_handoff").behind_anchor(3, "phase-1").behind_anchor(4, "phase-1"),
        Case::new("overflow").behind_anchor(3, "auto_handoff/context_overflow"),
        Case::new("err500"),
        Case::new("reasoning"),
    ];
    for case in cases {
        let home = recording();
        let server = case.is_repeated_in(&home);
        let files = files(&home);
        are_identical(&home, files.len());
        let mut blamed = Vec::new();
        for file in &files {
            let shown = home.bub(["blame", &name(file), "--json"]).finish();
            let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
            match shown {
                Value::Array(all) => blamed.extend(all),
                one => blamed.push(one),
            }
        }
        blamed.iter().for_each(crate::blame::check);
        // A request that failed is sent again with the same body.
        let mut sent: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
        sent.dedup();
        let body =
            |blame: &Value| serde_json::from_str::<Value>(blame["body"].as_str().expect("a body")).expect("JSON");
        assert_eq!(blamed.iter().map(body).collect::<Vec<Value>>(), sent);
    }
}
