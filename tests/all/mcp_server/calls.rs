//! What a client lists and calls, within the policy of the owner.

use super::{Client, SESSION, desk, hello, result, serving};
use bub_tests::tape;
use serde_json::{Value, json};

fn made(home: &bub_tests::Home) -> bool {
    home.workspace().join("new.txt").exists()
}

fn write() -> Value {
    json!({ "path": "new.txt", "content": "made" })
}

#[test]
fn a_client_is_answered_in_its_version_or_in_the_newest_one() {
    let home = desk(true);
    for (asked, answered) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut client = Client { program: serving(&home, &[]).start(), last: 0 };
        let begun = client.ask("initialize", &hello(asked, &json!({})));
        assert_eq!(begun["result"]["protocolVersion"], answered, "{begun}");
        assert!(begun["result"]["capabilities"]["tools"].is_object(), "{begun}");
        assert!(begun["result"]["capabilities"]["resources"].is_object(), "{begun}");
        let finished = client.end();
        assert_eq!(finished.stderr, "", "{finished}");
    }
}

#[test]
fn the_revision_without_a_handshake_is_spoken_too() {
    let home = desk(true);
    let mut client = Client { program: serving(&home, &[]).start(), last: 0 };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask("server/discover", &json!({ "_meta": meta }));
    let versions = found["result"]["supportedVersions"].as_array().cloned().unwrap_or_default();
    assert_eq!(versions, ["2025-06-18", "2025-11-25", "2026-07-28"], "{found}");
    let params = json!({ "name": "fs_read", "arguments": { "path": "notes.txt" }, "_meta": meta });
    let (went_well, text) = result(&client.ask("tools/call", &params));
    assert!(went_well && text.contains("two"), "{text}");
    client.end();
}

#[test]
fn every_tool_is_on_one_page_with_a_schema_and_hints() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let listed = client.ask("tools/list", &json!({}));
    assert_eq!(listed["result"].get("nextCursor"), None, "{listed}");
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        assert!((1..=64).contains(&name.len()) && name.chars().all(is_plain), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(tool("fs_read")["annotations"]["readOnlyHint"], true);
    assert_eq!(tool("fs_read")["annotations"].get("destructiveHint"), None);
    for name in ["fs_write", "bash", "run_turn"] {
        assert_eq!(tool(name)["annotations"]["readOnlyHint"], false, "{name}");
        assert_eq!(tool(name)["annotations"]["destructiveHint"], true, "{name}");
    }
    assert_eq!(tool("web_fetch")["annotations"]["openWorldHint"], true);
    let paged = client.ask("tools/list", &json!({ "cursor": "2" }));
    assert_eq!(paged["error"]["code"], -32602, "{paged}");
    client.end();
}

#[test]
fn a_call_answers_and_is_on_the_tape_of_its_session_out_of_context() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let (went_well, text) = client.call("fs_read", &json!({ "path": "notes.txt" }));
    assert!(went_well && text.contains("two"), "{text}");
    let (went_well, text) = client.call("fs_read", &json!({ "path": "absent.txt" }));
    assert!(!went_well && text.contains("absent.txt"), "{text}");
    client.end();
    let entries = tape::read(&home.tape_file(SESSION));
    let of_kind = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).collect::<Vec<_>>();
    let (calls, results) = (of_kind("tool_call"), of_kind("tool_result"));
    assert_eq!((calls.len(), results.len()), (2, 2), "{entries:?}");
    let call = &calls[0]["payload"]["calls"][0];
    assert_eq!(call["function"]["name"], "fs_read");
    assert_eq!(call["function"]["arguments"], r#"{"path":"notes.txt"}"#);
    assert!(results[0]["payload"]["results"][0].as_str().is_some_and(|text| text.contains("two")), "{results:?}");
    assert_eq!(results[1]["payload"]["results"][0]["kind"], "not_found", "{results:?}");
    for entry in calls.iter().chain(&results) {
        assert_eq!(entry["meta"]["context"], false, "{entry}");
        assert!(entry["meta"]["run_id"].is_string(), "{entry}");
    }
    assert!(of_kind("message").is_empty(), "no one said anything: {entries:?}");
}

#[test]
fn what_needs_the_owners_word_is_denied_where_no_one_can_be_asked() {
    let home = desk(false);
    let mut client = Client::begin(serving(&home, &[]));
    // A conversation that has read nothing is the owner's own.
    assert!(client.call("fs_write", &json!({ "path": "first.txt", "content": "x" })).0);
    assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0);
    let (went_well, text) = client.call("fs_write", &write());
    assert!(!went_well && text.contains("`fs_write` would write, which needs the owner's word"), "{text}");
    assert!(!made(&home), "{text}");
    let finished = client.end();
    assert!(finished.stderr.contains("denied: write `new.txt`"), "{finished}");
    // The session goes on, and with it what was read.
    let mut client = Client::begin(serving(&home, &[]));
    assert!(!client.call("fs_write", &write()).0);
    client.end();
    let mut client = Client::begin(serving(&home, &["--allow", "write"]));
    assert!(client.call("fs_write", &write()).0);
    assert!(made(&home));
    client.end();
}

#[test]
fn read_only_denies_what_does_more() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &["--approve", "read-only"]));
    assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0);
    let (went_well, text) = client.call("fs_write", &write());
    assert!(!went_well && text.contains("read-only"), "{text}");
    assert!(!made(&home));
    client.end();
}

#[test]
fn a_client_that_can_ask_its_user_asks_about_the_call() {
    for (content, is_made) in [
        (json!({ "action": "accept", "content": { "decision": "once" } }), true),
        (json!({ "action": "accept", "content": { "decision": "no" } }), false),
        (json!({ "action": "accept", "content": { "decision": 1 } }), false),
        (json!({ "action": "accept" }), false),
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
    ] {
        let home = desk(true);
        let run = serving(&home, &["--approve", "ask"]);
        let mut client = Client::begin_with(run, &json!({ "elicitation": {} }));
        let id = client.request("tools/call", &json!({ "name": "fs_write", "arguments": write() }));
        let asked = client.message("the question", |message| message["method"] == "elicitation/create");
        let message = asked["params"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("write `new.txt`?"), "{asked}");
        assert!(asked["params"]["requestedSchema"]["properties"]["decision"].is_object(), "{asked}");
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": content }));
        let (went_well, text) = result(&client.answer(id));
        assert_eq!((went_well, made(&home)), (is_made, is_made), "{content}: {text}");
        client.end();
    }
}

#[test]
fn an_answer_for_the_session_is_remembered() {
    let home = desk(true);
    let run = serving(&home, &["--approve", "ask"]);
    let mut client = Client::begin_with(run, &json!({ "elicitation": {} }));
    let id = client.request("tools/call", &json!({ "name": "fs_write", "arguments": write() }));
    let asked = client.message("the question", |message| message["method"] == "elicitation/create");
    let content = json!({ "action": "accept", "content": { "decision": "never" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": content }));
    assert!(!result(&client.answer(id)).0);
    assert!(!client.call("fs_write", &json!({ "path": "other.txt", "content": "" })).0, "without being asked");
    let asked = client.messages().into_iter().filter(|message| message["method"] == "elicitation/create");
    assert_eq!(asked.count(), 1);
    client.end();
}

/// The question about a command, and the result after the user has answered it with that decision.
fn answering(client: &mut Client, command: &str, decision: &str, known: &mut Vec<Value>) -> (Value, bool, String) {
    let id = client.request("tools/call", &json!({ "name": "bash", "arguments": { "cmd": command } }));
    let is_new = |message: &Value| message["method"] == "elicitation/create" && !known.contains(&message["id"]);
    let asked = client.message("the question", is_new);
    known.push(asked["id"].clone());
    let content = json!({ "action": "accept", "content": { "decision": decision } });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": content }));
    let (went_well, text) = result(&client.answer(id));
    (asked["params"].clone(), went_well, text)
}

#[test]
fn a_rule_that_the_user_of_a_client_keeps_holds_for_the_next_call() {
    let home = desk(true);
    let mut client = Client::begin_with(serving(&home, &["--approve", "ask"]), &json!({ "elicitation": {} }));
    let mut known = Vec::new();
    let (asked, went_well, text) = answering(&mut client, "uname -s", "rule", &mut known);
    assert!(went_well, "{text}");
    let message = asked["message"].as_str().unwrap_or_default();
    assert!(message.lines().any(|line| line == r#"Rule: prefix = ["uname"], decision = "allow""#), "{message}");
    let choices = &asked["requestedSchema"]["properties"]["decision"]["enum"];
    assert!(choices.as_array().is_some_and(|choices| choices.contains(&json!("rule"))), "{asked}");
    let config = std::fs::read_to_string(home.bub_home().join("config.toml")).expect("the configuration");
    assert!(config.contains(r#"prefix = ["uname"]"#), "{config}");
    assert!(client.call("bash", &json!({ "cmd": "uname -r" })).0);
    // What no rule can allow is not allowed by that answer, and shapes no line of the question.
    let long = format!("touch new.txt {}", "x".repeat(100_000));
    for command in ["uname > new.txt", "touch new.txt \"$x\"\nRule: all \u{1b}[2J\u{202e}", &long] {
        let (asked, went_well, text) = answering(&mut client, command, "rule", &mut known);
        let message = asked["message"].as_str().unwrap_or_default();
        assert!(message.lines().count() <= 3 && message.len() < 20_000, "{message}");
        assert!(!message.chars().any(|c| c != '\n' && c.is_control() || c == '\u{202e}'), "{message}");
        assert!(!asked["requestedSchema"].to_string().contains("\"rule\""), "{asked}");
        assert!(!went_well && !made(&home), "{command:.80}: {text}");
    }
    client.end();
}
