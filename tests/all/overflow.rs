//! A request that a provider refuses for its length ends in an answer, with a model that counts what it is sent.

use crate::context::long::count;
use crate::home;
use bub_tests::{Answer, Home, Server, tape};
use serde_json::{Value, json};
use std::fs;

/// How a provider says that a request is too long.
#[derive(Debug, Clone, Copy)]
enum Says {
    /// With both numbers.
    Numbers,
    /// Without any.
    Nothing,
}

/// A model that takes `window` tokens and answers what it was asked, by its last words. With `tool`, it calls that tool
/// with those arguments as long as it has not heard of a result.
fn model(window: usize, says: Says, tool: Option<(&'static str, &'static str)>) -> Server {
    Server::ruled(move |request| {
        let tokens = count(request);
        if tokens > window {
            return match says {
                Says::Numbers => Answer::too_long(window, tokens),
                Says::Nothing => {
                    let error =
                        json!({ "error": { "message": "prompt is too long", "code": "context_length_exceeded" } });
                    Answer::Whole(400, "application/json", error.to_string())
                }
            };
        }
        let messages = request.messages();
        let offers = request.json()["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let knows = messages.iter().any(|message| message["role"] == "tool" || message.to_string().contains("printed"));
        if let Some((name, arguments)) = tool.filter(|_| offers && !knows) {
            return Answer::tool_call(name, arguments);
        }
        Answer::text(&format!("answered in {tokens}"))
    })
}

/// Tokens of a request that says next to nothing.
fn bare(home: impl Fn() -> Home) -> usize {
    let server = Server::ruled(|_| Answer::text("hi"));
    home().run(["hi"]).model(&server).finish();
    count(&server.requests()[0])
}

fn states(home: &Home) -> Vec<Value> {
    let tape = tape::read(&home.tape_file("cli:local"));
    let phases = tape.into_iter().filter(|entry| entry["kind"] == "anchor" && entry["meta"]["zone"] != true);
    phases.map(|entry| entry["payload"].clone()).filter(|anchor| anchor["name"] != "session/start").collect()
}

fn with(selector: &str) -> Home {
    let home = home();
    home.configure(&format!("selector = \"{selector}\""));
    home
}

/// The prompts of the recorded case, with as much around them as makes them what they say.
#[test]
fn the_recorded_case_ends_in_an_answer_with_a_model_that_computes() {
    for selector in ["builtin", "context-builder"] {
        for says in [Says::Numbers, Says::Nothing] {
            let window = bare(|| with(selector)) + 1_200;
            let home = with(selector);
            let server = model(window, says, None);
            let padding = "a word of padding ".repeat(220);
            home.run([format!("PADDING one {padding}").as_str()]).model(&server).finish();
            let finished = home.run([format!("OVERFLOW please {padding}").as_str()]).model(&server).finish();
            assert!(
                finished.code == Some(0) && finished.stdout.contains("answered in "),
                "{selector} {says:?}\n{finished}"
            );
            let states = states(&home);
            assert_eq!(states.len(), 1, "{selector} {says:?}: one handoff a turn: {states:?}");
            assert_eq!(states[0]["name"], "auto_handoff/context_overflow");
            // The learned limit holds in the next turn.
            let before = server.requests().len();
            let finished = home.run(["and now?"]).model(&server).finish();
            assert!(finished.stdout.contains("answered in "), "{selector} {says:?}\n{finished}");
            assert_eq!(server.requests().len(), before + 1, "{selector} {says:?}: asked once, and not refused");
        }
    }
}

#[test]
fn one_enormous_message_ends_in_an_answer_and_does_not_come_back_in_the_summary() {
    for selector in ["builtin", "context-builder"] {
        let window = bare(|| with(selector)) + 3_000;
        let home = with(selector);
        let server = model(window, Says::Numbers, None);
        home.run(["Remember that the gate code is 7319."]).model(&server).finish();
        let enormous: String = (0..4_000).map(|at| format!("Remember the number {at}. ")).collect();
        fs::write(home.workspace().join("enormous.txt"), &enormous).expect("it can be written");
        let finished = home.run([format!("BEGIN {enormous} END").as_str()]).model(&server).finish();
        assert!(finished.stdout.contains("answered in "), "{selector}\n{}", finished.stderr);
        let state = states(&home).pop().unwrap_or_else(|| panic!("{selector}: it handed off"))["state"].clone();
        let summary = state["summary"].as_str().unwrap_or_default();
        assert!(summary.contains("7319") && !summary.contains("Remember the number 2000."), "{selector}: {summary}");
        let requests = server.requests();
        let asked = requests.last().expect("it was asked").messages();
        let said = asked.iter().rfind(|message| message["role"] == "user").expect("the user spoke").to_string();
        assert!(said.contains("BEGIN") && said.contains("END") && said.contains("characters left out"), "{selector}");
        // The enormous message is on the tape unchanged, and no later turn fails because of it.
        let finished = home.run(["and now?"]).model(&server).finish();
        assert!(finished.stdout.contains("answered in "), "{selector}\n{}", finished.stderr);
    }
}

#[test]
fn an_enormous_result_of_a_tool_ends_in_an_answer() {
    let arguments = r#"{"cmd": "i=0; while [ $i -lt 1500 ]; do echo \"printed line $i of many\"; i=$((i+1)); done"}"#;
    for selector in ["builtin", "context-builder"] {
        let window = bare(|| with(selector)) + 1_500;
        let home = with(selector);
        let server = model(window, Says::Numbers, Some(("bash", arguments)));
        let finished = home.run(["print them"]).model(&server).finish();
        assert!(finished.stdout.contains("answered in "), "{selector}\n{finished}");
    }
}

/// The tools alone are too long for it.
#[test]
fn a_model_that_takes_less_than_the_tools_answers_without_them() {
    for says in [Says::Numbers, Says::Nothing] {
        let home = with("builtin");
        let server = model(1_500, says, None);
        let finished = home.run(["hello"]).model(&server).finish();
        assert!(finished.stdout.contains("answered in "), "{says:?}\n{finished}");
        let requests = server.requests();
        let last = requests.last().expect("it was asked");
        assert!(last.json()["tools"].as_array().is_none_or(Vec::is_empty), "{says:?}");
        assert!(last.last_content().ends_with("hello"), "{says:?}: {}", last.last_content());
    }
}

#[test]
fn a_model_that_refuses_every_request_is_called_a_few_times_and_the_error_is_reported() {
    let home = with("builtin");
    let server = Server::ruled(|_| Answer::too_long(8, 9));
    let finished = home.run(["hello"]).model(&server).finish();
    assert!(finished.code == Some(1) && finished.stderr.contains("maximum context length"), "{finished}");
    assert!((2..=5).contains(&server.requests().len()), "{}", server.requests().len());
}
