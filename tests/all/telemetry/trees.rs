//! The trees of spans: of a turn as the book shows it, of turns inside turns, failures, faults and cancelled turns.

use super::collector::{Collector, Seen, only, tree};
use crate::book::root;
use crate::home;
use bub_tests::{Answer, Server, programs};
use serde_json::json;
use std::fs;

/// The spans of one turn, and their tree.
#[track_caller]
fn traced(collector: &Collector) -> (Vec<Seen>, String) {
    let spans = collector.spans();
    let tree = tree(&spans);
    assert!(tree.starts_with("turn\n"), "{tree}");
    (spans, tree)
}

#[test]
fn the_book_shows_the_tree_of_a_turn() {
    let home = home();
    fs::write(home.workspace().join("notes.txt"), "buy milk").expect("a file to read");
    let collector = Collector::new();
    let read = json!({ "path": "notes.txt" }).to_string();
    let model = Server::new([Answer::tool_call("fs.read", &read), Answer::text("milk")]);
    collector.of(home.run(["what is in notes.txt?"])).model(&model).finish().says("[cli:local]\nmilk\n");
    let (_, tree) = traced(&collector);
    let page = fs::read_to_string(root().join("docs/src/guide/telemetry.md")).expect("the page is there");
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a tree on the page");
    assert_eq!(shown, tree.replace("fake-model", "gpt-4o"), "docs/src/guide/telemetry.md shows another tree");
}

#[test]
fn a_tool_call_is_a_span_without_its_arguments() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([Answer::tool_call("fs.read", r#"{"path": "absent-file.txt"}"#), Answer::text("no")]);
    collector.of(home.run(["read it"])).model(&model).finish().says("[cli:local]\nno\n");
    let (spans, tree) = traced(&collector);
    let tool = only(&spans, "execute_tool fs.read");
    let expected = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "fs.read"),
        ("gen_ai.tool.type", "function"),
        ("gen_ai.tool.call.id", "call_0"),
        ("bub.plugin", "workspace"),
        ("bub.outcome", "error"),
    ];
    for (name, value) in expected {
        assert_eq!(tool.attributes.get(name).map(String::as_str), Some(value), "{name}: {tool:?}");
    }
    assert!(tool.error.is_some(), "{tool:?}");
    assert!(spans.iter().any(|span| span.parent == tool.id && span.name == "call-tool workspace"), "{tree}");
    assert!(!format!("{spans:?}").contains("absent-file"), "arguments are content");
}

#[test]
fn a_turn_inside_a_turn_is_below_the_tool_that_began_it() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([
        Answer::tool_call("subagent", &json!({ "prompt": "count" }).to_string()),
        Answer::text("one two three"),
        Answer::text("it counted"),
    ]);
    collector.of(home.run(["let somebody count"])).model(&model).finish().says("[cli:local]\nit counted\n");
    let (spans, tree) = traced(&collector);
    let (tool, inner) = (only(&spans, "execute_tool subagent"), only(&spans, "subturn"));
    let by_id = |id: &str| spans.iter().find(|span| span.id == id);
    let above = std::iter::successors(Some(inner), |span| by_id(&span.parent)).any(|span| span.id == tool.id);
    assert!(above, "{tree}");
    assert_eq!(inner.attributes["bub.outcome"], "answered");
    assert!(inner.attributes["bub.session"].starts_with("temp/"), "{inner:?}");
    assert_eq!(spans.iter().filter(|span| span.name == "chat fake-model").count(), 3, "{tree}");
}

#[test]
fn a_model_that_fails_has_a_request_for_each_attempt() {
    let home = home();
    let collector = Collector::new();
    let broken = || Answer::Whole(503, "application/json", r#"{"error": {"message": "busy"}}"#.to_owned());
    let model = Server::new([broken(), Answer::text("hello")]);
    collector.of(home.run(["hi"])).model(&model).finish().says("[cli:local]\nhello\n");
    let (spans, tree) = traced(&collector);
    let chat = only(&spans, "chat fake-model");
    let requests: Vec<&Seen> = spans.iter().filter(|span| span.name == "POST").collect();
    assert_eq!(requests.len(), 2, "{tree}");
    assert!(requests.iter().all(|request| request.parent == chat.id), "{tree}");
    assert_eq!(requests[0].attributes["http.response.status_code"], "503");
    assert_eq!(requests[0].attributes["error.type"], "temporary");
    assert!(requests[0].error.as_ref().is_some_and(|why| why.contains("busy")), "{:?}", requests[0]);
    assert_eq!(requests[1].attributes["http.request.resend_count"], "1");
    assert_eq!((requests[1].error.as_ref(), chat.error.as_ref()), (None, None));

    let collector = Collector::new();
    let model = Server::new([Answer::refusal("no such thing")]);
    let finished = collector.of(home.run(["hi"])).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let spans = collector.spans();
    for name in ["POST", "chat fake-model", "turn"] {
        let span = only(&spans, name);
        assert_eq!(span.attributes["bub.outcome"], "failed", "{span:?}");
        assert!(span.error.as_ref().is_some_and(|why| why.contains("no such thing")), "{span:?}");
    }
}

#[test]
fn a_cancelled_turn_says_so_and_ends_its_spans() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([Answer::Silence]);
    let started = collector.of(home.run(["take your time"])).model(&model).start();
    model.wait_for(1);
    started.interrupt();
    let finished = started.finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let (spans, tree) = traced(&collector);
    for name in ["turn", "run-model-stream builtin", "chat fake-model", "POST"] {
        let span = only(&spans, name);
        assert_eq!(span.attributes["bub.outcome"], "cancelled", "{span:?}\n{tree}");
        assert_eq!(span.error, None, "the user wanted it: {span:?}");
    }
}

#[test]
fn a_fault_of_a_plugin_is_in_the_span_of_its_call() {
    let home = home();
    home.plugin("fault_trap", programs::FAULT_TRAP);
    let collector = Collector::new();
    collector.of(home.run(["hi"])).finish().fails("hook `build-prompt` of plugin `fault_trap`: trapped");
    let (spans, _) = traced(&collector);
    let call = only(&spans, "build-prompt fault_trap");
    assert_eq!(call.attributes["bub.outcome"], "fault", "{call:?}");
    assert_eq!(call.attributes["error.type"], "trap", "{call:?}");
    assert!(call.error.as_ref().is_some_and(|why| why.starts_with("trapped: ")), "{call:?}");
    let turn = only(&spans, "turn");
    assert_eq!(turn.attributes["error.type"], "fault", "{turn:?}");
}
