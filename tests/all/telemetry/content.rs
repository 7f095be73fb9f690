//! What is in spans: no conversation unless the user wants it, and never a secret.

use super::collector::{Collector, only};
use crate::home;
use bub_tests::{Answer, Server};
use serde_json::{Value, json};
use std::fs;

/// A key that the user has stored.
const KEY: &str = "k3y-0f-the-user-987654";

#[test]
fn conversations_are_not_exported_by_default() {
    let home = home();
    fs::write(home.workspace().join("notes.txt"), "the-result").expect("a file to read");
    let collector = Collector::new();
    let model = Server::new([Answer::tool_call("fs.read", r#"{"path": "notes.txt"}"#), Answer::text("the-answer")]);
    collector.of(home.run(["the-question"])).model(&model).finish().says("[cli:local]\nthe-answer\n");
    let all = format!("{:?} {:?}", collector.spans(), collector.logs());
    for content in ["the-question", "the-answer", "the-result", "notes.txt"] {
        assert!(!all.contains(content), "`{content}` is exported");
    }
}

#[test]
fn conversations_are_exported_if_the_user_wants_it_and_secrets_never() {
    let home = home();
    home.configure("[telemetry]\ncontent = true");
    fs::write(home.workspace().join("notes.txt"), format!("the-result {KEY}")).expect("a file to read");
    let collector = Collector::new();
    let model = Server::new([
        Answer::tool_call("fs.read", r#"{"path": "notes.txt"}"#),
        Answer::text(&format!("the-answer {KEY}")),
    ]);
    let run = collector.of(home.run([format!("the-question {KEY}").as_str()])).model(&model);
    run.env("BUB_SECRET_OTHER", KEY).finish();
    let spans = collector.spans();
    let chats: Vec<_> = spans.iter().filter(|span| span.name == "chat fake-model").collect();
    let parsed = |at: usize, name: &str| -> Value {
        let text = chats[at].attributes.get(name).unwrap_or_else(|| panic!("{name}: {:?}", chats[at]));
        serde_json::from_str(text).expect("it is JSON")
    };
    let asked = parsed(1, "gen_ai.input.messages").to_string();
    assert!(asked.contains("the-question ***") && asked.contains("the-result ***"), "{asked}");
    let said = parsed(0, "gen_ai.output.messages");
    let call =
        json!({ "type": "tool_call", "id": "call_0", "name": "fs.read", "arguments": "{\"path\": \"notes.txt\"}" });
    assert_eq!(said, json!([{ "role": "assistant", "parts": [call], "finish_reason": "tool_calls" }]));
    let answer = parsed(1, "gen_ai.output.messages");
    assert_eq!(answer[0]["parts"], json!([{ "type": "text", "content": "the-answer ***" }]));
    let tool = only(&spans, "execute_tool fs.read");
    assert_eq!(tool.attributes["gen_ai.tool.call.arguments"], r#"{"path": "notes.txt"}"#);
    assert!(tool.attributes["gen_ai.tool.call.result"].contains("the-result ***"), "{tool:?}");
    let all = format!("{spans:?} {:?}", collector.logs());
    assert!(!all.contains(KEY), "the key is exported: {all}");
}

#[test]
fn a_secret_in_a_name_or_in_an_error_is_taken_out() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([Answer::refusal(&format!("I do not like {KEY} at all"))]);
    let run = home.run(["hi", "--session", &format!("s-{KEY}")]).model(&model).env("BUB_SECRET_OTHER", KEY);
    assert_eq!(collector.of(run).finish().code, Some(1));
    let spans = collector.spans();
    let turn = only(&spans, "turn");
    assert_eq!(turn.attributes["bub.session"], "s-***");
    assert!(turn.error.as_ref().is_some_and(|why| why.contains("I do not like ***")), "{turn:?}");
    assert!(!format!("{spans:?} {:?}", collector.logs()).contains(KEY));
}

#[test]
fn a_hostile_name_of_a_tool_is_clipped_and_on_one_line() {
    let home = home();
    let collector = Collector::new();
    let hostile = format!("evil\n\u{1b}[2J\u{202e}{}", "x".repeat(5000));
    let model = Server::new([Answer::tool_call(&hostile, "{}"), Answer::text("done")]);
    collector.of(home.run(["hi"])).model(&model).finish().says("[cli:local]\ndone\n");
    let spans = collector.spans();
    let tool = spans.iter().find(|span| span.name.starts_with("execute_tool evil")).expect("its span");
    for text in [&tool.name, &tool.attributes["gen_ai.tool.name"]] {
        assert!(
            text.chars().count() <= 1001 && !text.contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{text:?}"
        );
    }
    assert_eq!(tool.attributes["error.type"], "not_found", "{tool:?}");
}
