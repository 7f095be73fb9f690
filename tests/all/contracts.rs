//! The comments in `wit/` say what is so.

use crate::home;
use bub_tests::{Answer, Home, Server, programs, tape};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const TAPE: &str = include_str!("../../wit/deps/bub-tape/tape.wit");
const TOOLS: &str = include_str!("../../wit/deps/bub-tools/tools.wit");

/// The lines of the comment in front of that line of a contract, without their slashes.
#[track_caller]
fn comment<'a>(contract: &'a str, before: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = contract.lines().collect();
    let at = lines.iter().position(|line| line.trim() == before).unwrap_or_else(|| panic!("no line `{before}`"));
    let comment = lines[..at].iter().rev().map_while(|line| line.trim().strip_prefix("///"));
    let mut comment: Vec<&str> = comment.collect();
    comment.reverse();
    comment
}

/// The payloads that the contract shows, by the kind of their entry.
fn examples() -> BTreeMap<String, Vec<Value>> {
    let mut examples: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut kind = None;
    for line in comment(TAPE, "record entry {") {
        if let Some((name, _)) = line.trim_start().strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
            kind = Some(name.to_owned());
        } else if let (Some(kind), true) = (&kind, line.trim_start().starts_with('{')) {
            let example = serde_json::from_str(line.trim()).unwrap_or_else(|error| panic!("{error}: {line}"));
            examples.entry(kind.clone()).or_default().push(example);
        }
    }
    examples
}

/// Whether that payload is as the example shows it: its keys, with values of the same kinds. Of lists the first items are
/// compared.
fn is_like(example: &Value, payload: &Value) -> bool {
    match (example, payload) {
        (Value::Object(example), Value::Object(payload)) => example.iter().all(|(key, value)| match key.as_str() {
            "role" => payload.get(key) == Some(value),
            _ => payload.get(key).is_some_and(|other| is_like(value, other)),
        }),
        (Value::Array(example), Value::Array(payload)) => match (example.first(), payload.first()) {
            (Some(example), Some(payload)) => is_like(example, payload),
            _ => false,
        },
        _ => std::mem::discriminant(example) == std::mem::discriminant(payload),
    }
}

/// The keys of an object, in their order.
fn keys(value: &Value) -> Vec<&String> {
    value.as_object().into_iter().flatten().map(|(key, _)| key).collect()
}

/// Whether the example shows an entry of that kind with that payload: it has no key besides, and an event is the one of
/// that name.
fn is_shown(kind: &str, example: &Value, payload: &Value) -> bool {
    (kind != "event" || example["name"] == payload["name"])
        && keys(example) == keys(payload)
        && is_like(example, payload)
}

/// The tapes of sessions of all kinds.
fn written() -> Vec<Value> {
    let home = home();
    let work = home.workspace();
    fs::write(work.join("a.txt"), "the text of a.txt").expect("the workspace can be written");
    fs::write(work.join("long.txt"), "so long that it is put aside\n".repeat(4096)).expect("it can be written");
    fs::write(work.join("dot.png"), PNG).expect("the workspace can be written");
    home.configure("[plugins.fault_panic]\non_fault = \"skip\"");
    home.plugin("fault_panic", programs::FAULT_PANIC);
    let server = Server::new([
        Answer::tool_call("fs_read", r#"{"path": "a.txt"}"#),
        Answer::tool_call("fs_read", r#"{"path": "nowhere.txt"}"#),
        Answer::tool_call("fs_read", r#"{"path": "long.txt"}"#),
        Answer::counted("Done.", 9),
        Answer::text("A dot."),
        Answer::refusal("no"),
    ]);
    home.run(["What is left to do?"]).model(&server).finish().says("[cli:local]\nDone.\n");
    let picture = ["what is this", "--attach", "dot.png"];
    home.run(picture).model(&server).finish().says("[cli:local]\nA dot.\n");
    assert_eq!(home.run(["fail"]).model(&server).finish().code, Some(1));
    home.run([",tape.handoff name=review"]).finish();
    // Entries that were set aside are on a tape beside it.
    tape::all(&home.tapes_dir()).into_values().flatten().collect()
}

/// A picture of one pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1,
    0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn the_payload_of_each_kind_of_entry_matches_the_contract() {
    let examples = examples();
    let kinds: Vec<&str> = examples.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["anchor", "error", "event", "message", "system", "tool_call", "tool_result"]);
    let written = written();
    for (kind, example) in examples.iter().flat_map(|(kind, all)| all.iter().map(move |example| (kind, example))) {
        let is_it = |entry: &Value| entry["kind"] == **kind && is_shown(kind, example, &entry["payload"]);
        assert!(written.iter().any(is_it), "nothing is written like the example of `{kind}`: {example}");
    }
    for entry in &written {
        let (kind, payload) = (entry["kind"].as_str().expect("a kind"), &entry["payload"]);
        let shown = examples.get(kind).unwrap_or_else(|| panic!("the contract does not show `{kind}`"));
        // The content of states, data and results is their writer's choice.
        let is_same = |example: &Value, payload: &Value| match kind {
            "message" => is_like(example, payload) && keys(example) == keys(payload),
            _ => keys(example) == keys(payload),
        };
        let is_shown = shown.iter().any(|example| is_same(example, payload));
        assert!(is_shown, "no example of `{kind}` shows {payload}");
    }
}

#[test]
fn each_event_of_the_host_and_the_agent_is_documented_in_the_contract() {
    let said = comment(TAPE, "record entry {").join(" ");
    let written = written();
    let events: Vec<&Value> = written.iter().filter(|entry| entry["kind"] == "event").collect();
    // The content of a plugin's entries is its own choice.
    for event in events.iter().filter(|event| event["meta"]["plugin"].is_null()) {
        let (name, data) = (event["payload"]["name"].as_str().expect("a name"), &event["payload"]["data"]);
        let named = format!("`{name}`");
        let (_, behind) = said.split_once(&named).unwrap_or_else(|| {
            assert!(said.contains(&format!("\"name\": \"{name}\"")), "the contract does not name `{name}`: {event}");
            ("", "")
        });
        let Some(keys) = behind.strip_prefix(" (").and_then(|behind| behind.split_once(')')) else { continue };
        for key in keys.0.split('`').skip(1).step_by(2) {
            let is_there = !data[key].is_null() || matches!(key, "tool" | "grant" | "plugin" | "digest" | "usage");
            assert!(is_there, "the contract says that `{name}` has `{key}`: {event}");
        }
    }
    for name in ["handoff", "run", "loop.start", "command", "turn.tainted", "plugin.fault"] {
        assert!(events.iter().any(|event| event["payload"]["name"] == name), "`{name}` is tried");
    }
}

/// The model calls `exact` with this text; returns the result that it reads.
#[track_caller]
fn called(home: &Home, arguments: &str) -> Value {
    let server = Server::new([Answer::tool_call("exact", arguments), Answer::text("done")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    let content = result["content"].as_str().unwrap_or_default();
    serde_json::from_str(content).unwrap_or_else(|_| content.into())
}

#[test]
fn arguments_that_do_not_fit_never_reach_the_tool_and_the_model_reads_why() {
    let said =
        comment(TOOLS, "call-tool: func(turn: turn, name: string, arguments: json) -> result<json, error>;").join(" ");
    for promise in ["never reach the tool", "`invalid-input`", "no default is filled in", "`{}` where"] {
        assert!(said.contains(promise), "the contract no longer says `{promise}`: {said}");
    }
    let home = home();
    home.configure("[plugins.odd_tools]\ngrants = [\"tools:*\"]");
    home.plugin("odd_tools", programs::ODD_TOOLS);
    for (arguments, reason) in [
        ("{\"count\": ", "are no JSON"),
        ("[1]", "are no JSON object"),
        ("", "\"count\" is a required property"),
        (r#"{"count": "1"}"#, "`count`: \"1\" is not of type \"integer\""),
        (r#"{"count": 0}"#, "`count`: 0 is less than the minimum of 1"),
        (r#"{"count": 1, "list": ["a", "c"]}"#, "`list/1`: "),
        (r#"{"count": 1, "closed": {"more": 1}}"#, "`closed`: "),
    ] {
        let result = called(&home, arguments);
        assert_eq!(result["kind"], "invalid_input", "{arguments}: {result}");
        let message = result["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("the arguments of `exact` ") && message.contains(reason), "{arguments}: {result}");
    }
    let many = json!({ "count": 1, "list": vec!["c"; 9] }).to_string();
    let message = called(&home, &many)["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(message.matches("`list/").count(), 5, "{message}");
    // That is no fault of the plugin: nothing is held against it.
    assert!(!home.bub_home().join("quarantine").exists());
}

#[test]
fn arguments_that_fit_reach_the_tool_as_they_were_written() {
    let home = home();
    home.configure("[plugins.odd_tools]\ngrants = [\"tools:*\"]");
    home.plugin("odd_tools", programs::ODD_TOOLS);
    // Spaces, the order of members and digits stay; nothing is added, and what the schema does not name comes along.
    for arguments in [r#"{ "more": [1.10],  "count": 2 }"#, r#"{"count": 1}"#] {
        assert_eq!(called(&home, arguments), serde_json::from_str::<Value>(arguments).expect("JSON"));
    }
    let server = Server::new([Answer::tool_call("exact", r#"{ "more": 1.10,  "count": 2 }"#), Answer::text("done")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    assert_eq!(result["content"], r#"{ "more": 1.10,  "count": 2 }"#);
}
