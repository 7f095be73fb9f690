//! The next phase begins before a request is longer than the model takes.

use crate::home;
use bub_tests::{Answer, Home, Server, tape};
use serde_json::Value;

fn small(window: u64) -> Home {
    let home = home();
    home.configure(&format!("max_tokens = 500\ncontext_reserve = 1500\n[windows]\nfake-model = {window}"));
    home
}

fn anchors(home: &Home) -> Vec<Value> {
    let tape = tape::read(&home.tape_file("cli:local"));
    // Those of zones, which memory writes, begin no phase.
    let phases = tape.into_iter().filter(|entry| entry["kind"] == "anchor" && entry["meta"]["zone"] != true);
    phases.map(|entry| entry["payload"].clone()).collect()
}

fn told(server: &Server, request: usize) -> bool {
    let messages = server.requests()[request].messages();
    messages.iter().any(|message| message["content"].as_str().is_some_and(|text| text.starts_with("[CONTEXT BUDGET]")))
}

/// So long that three of them do not fit.
fn long(name: &str) -> String {
    format!("{name}: {}", "some words of a long story. ".repeat(160))
}

/// Tokens of an empty conversation: system prompt and tools.
fn bare() -> u64 {
    let home = home();
    let server = Server::new([Answer::text("hi")]);
    home.run(["hi"]).model(&server).finish();
    let body = server.requests()[0].json();
    let messages: u64 = body["messages"].as_array().into_iter().flatten().map(bub_estimate::chat::message).sum();
    let tools = body["tools"].as_array().into_iter().flatten().map(|tool| {
        let function = &tool["function"];
        let text = |key: &str| function[key].as_str().unwrap_or_default().to_owned();
        bub_estimate::chat::tool(&text("name"), &text("description"), &function["parameters"].to_string())
    });
    messages + tools.sum::<u64>()
}

#[test]
fn a_model_is_warned_once_before_the_loop_hands_off() {
    // Room for one and a half long messages, and then for 1,500 tokens that are the reserve.
    let home = small(bare() + 1_700 + 1_500 + 500);
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    home.run([long("first").as_str()]).model(&server).finish();
    assert!(!told(&server, 0));
    home.run([long("second").as_str()]).model(&server).finish();
    assert!(told(&server, 1), "the second is in the reserve");
    assert_eq!(anchors(&home).len(), 1);
    home.run([long("third").as_str()]).model(&server).finish();
    assert_eq!(server.requests().len(), 3, "the model was not asked in vain");
    assert!(!told(&server, 2));
    let anchors = anchors(&home);
    let anchor = anchors.last().expect("there is one");
    assert_eq!(anchor["name"], "auto_handoff/context_budget");
    assert!(anchor["state"]["estimate"].as_u64() > Some(0) && anchor["state"]["window"].as_u64() > Some(0), "{anchor}");
    let messages = server.requests()[2].messages();
    let text = |at: usize| messages[at]["content"].as_str().unwrap_or_default().to_owned();
    assert!(
        text(1).starts_with("[Anchor created: auto_handoff/context_budget]: {\"reason\": \"context_budget\""),
        "{}",
        text(1)
    );
    assert!(text(1).contains("\"summary\": "), "{}", text(1));
    assert!(text(2).contains("third: ") && messages.len() == 3);
}

#[test]
fn a_model_that_hands_off_after_the_warning_writes_its_own_summary() {
    let home = small(bare() + 1_700 + 1_500 + 500);
    let handoff = Answer::tool_call("tape_handoff", r#"{"name": "part-two", "summary": "the story so far"}"#);
    let server = Server::new([Answer::text("one"), handoff, Answer::text("two")]);
    home.run([long("first").as_str()]).model(&server).finish();
    home.run([long("second").as_str()]).model(&server).finish().says("[cli:local]\ntwo\n");
    assert!(told(&server, 1) && !told(&server, 2));
    let names: Vec<Value> = anchors(&home).iter().map(|anchor| anchor["name"].clone()).collect();
    assert_eq!(names, ["session/start", "part-two"]);
}

#[test]
fn a_turn_hands_off_once_and_leaves_the_rest_to_the_provider() {
    // Not even the system prompt has room.
    let home = small(bare() / 2);
    let server = Server::new([Answer::text("one")]);
    home.run(["hello"]).model(&server).finish().says("[cli:local]\none\n");
    assert_eq!(anchors(&home).len(), 2);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_model_with_an_unknown_window_gets_the_whole_request() {
    let home = home();
    let server = Server::new([Answer::text("one")]);
    home.run([long("first").as_str()]).model(&server).finish();
    assert!(!told(&server, 0) && anchors(&home).len() == 1);
    let zero = crate::home();
    zero.configure("[windows]\nfake-model = 0");
    zero.run(["ECHO:hi"]).finish().refuses(&["windows.fake-model", "`0`"]);
}

#[test]
fn the_handoff_after_a_refusal_has_a_summary_too() {
    let home = home();
    let server = Server::new([Answer::text("one"), Answer::too_long(8_000, 9_000), Answer::text("two")]);
    home.run(["My name is Ada Lovelace."]).model(&server).finish();
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ntwo\n");
    let anchors = anchors(&home);
    let anchor = anchors.last().expect("there is one");
    assert_eq!(anchor["name"], "auto_handoff/context_overflow");
    assert!(anchor["state"]["summary"].as_str().is_some_and(|text| text.contains("Ada Lovelace")), "{anchor}");
}
