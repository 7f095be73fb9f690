//! Tools that call themselves, tools that are not for models, and calls without an id.

use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::{Value, json};

fn with_odd_tools() -> Home {
    let home = home();
    home.configure("[plugins.odd_tools]\ngrants = [\"tools:*\"]");
    home.plugin("odd_tools", programs::ODD_TOOLS);
    home
}

/// The model makes these calls and says `done` to what comes back; the messages that it was sent then.
#[track_caller]
fn calls(home: &Home, calls: Answer) -> Vec<Value> {
    let server = Server::new([calls, Answer::text("done")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    server.requests()[1].messages()
}

/// The result of its one call, as the model reads it.
#[track_caller]
fn result(messages: &[Value]) -> Value {
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    serde_json::from_str(result["content"].as_str().unwrap_or_default()).unwrap_or_else(|_| result["content"].clone())
}

#[test]
pub(crate) fn odd_tools_may_be_plain() {
    let messages = calls(&with_odd_tools(), Answer::tool_call("plain", "{}"));
    assert_eq!(result(&messages), "`plain` was called");
}

#[test]
fn a_tool_that_calls_itself_is_denied_in_the_innermost_call() {
    let result = result(&calls(&with_odd_tools(), Answer::tool_call("again", "{}")));
    assert_eq!(result["calls"], 5, "{result}");
    assert!(result["stopped"].as_str().is_some_and(|text| text.contains("Denied: ")), "{result}");
}

/// With little address space the pool has 32 slots, eight of these calls run at a time, and each holds five: a call
/// without a free slot continues without the pool, so that no two calls wait for each other.
#[test]
fn a_full_pool_keeps_no_call_waiting() {
    let home = with_odd_tools();
    let calls: Vec<Value> = (0..60)
        .map(|index| json!({ "index": index, "type": "function", "function": { "name": "again", "arguments": "{}" } }))
        .collect();
    let server = Server::new([Answer::tool_calls(&calls), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).under("ulimit -v 14000000").finish();
    let finished = finished.says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let results: Vec<_> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 60, "{finished}");
    for result in results {
        let content = result["content"].as_str().unwrap_or_default();
        assert!(content.contains("\"calls\":5") || content.contains("\"calls\": 5"), "{content}\n{finished}");
    }
}

/// Forty results of 15 MiB are not held at once: eight guests run at a time, each in its 64 MiB, and the turn holds
/// 64 MiB of what they answered.
#[test]
fn the_combined_results_of_tools_are_limited() {
    let home = with_odd_tools();
    let calls: Vec<Value> = (0..40)
        .map(|index| json!({ "index": index, "type": "function", "function": { "name": "big", "arguments": "{}" } }))
        .collect();
    let server = Server::new([Answer::tool_calls(&calls), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).finish();
    assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    assert!(finished.peak < 660 << 20, "it took {} MiB\n{finished}", finished.peak >> 20);
    home.run(["ECHO:next"]).finish().says("[cli:local]\nnext\n");
}

#[test]
fn how_deep_calls_go_is_configured() {
    let home = with_odd_tools();
    home.configure("[plugins.odd_tools.limits]\ndepth = 2");
    let result = result(&calls(&home, Answer::tool_call("again", "{}")));
    assert_eq!(result["calls"], 2, "{result}");
}

#[test]
fn a_tool_for_people_is_not_offered_to_a_model() {
    let server = Server::new([Answer::text("hello")]);
    with_odd_tools().run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let request = &server.requests()[0].body;
    assert!(request.contains("plain") && !request.contains("for_people"), "{request}");
}

#[test]
fn a_tool_for_people_that_a_model_names_is_denied() {
    let messages = calls(&with_odd_tools(), Answer::tool_call("for_people", "{}"));
    let result = result(&messages);
    assert_eq!(result["kind"], "denied", "{result}");
    assert!(!result.to_string().contains("was called"), "{result}");
}

#[test]
fn calls_without_an_id_are_numbered() {
    let call =
        |index: u64| json!({ "index": index, "type": "function", "function": { "name": "plain", "arguments": "{}" } });
    let messages = calls(&with_odd_tools(), Answer::tool_calls(&[call(0), call(1)]));
    let asked = messages.iter().find(|message| !message["tool_calls"].is_null()).expect("the calls are repeated");
    assert_eq!((&asked["tool_calls"][0]["id"], &asked["tool_calls"][1]["id"]), (&"call_0".into(), &"call_1".into()));
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let ids: Vec<_> = results.map(|message| message["tool_call_id"].clone()).collect();
    assert_eq!(ids, ["call_0", "call_1"]);
}

#[test]
fn an_argument_of_the_wrong_type_is_refused_with_the_types_that_it_may_have() {
    for (days, told) in [
        (json!("seven"), "`days`: \"seven\" is not of the type integer or null"),
        (json!(0), "`days`: 0 is less than the minimum of 1"),
    ] {
        let asked = json!({ "query": "x", "days": days }).to_string();
        let refused = result(&calls(&home(), Answer::tool_call("memory_recall", &asked)));
        assert!(refused["message"].as_str().is_some_and(|text| text.contains(told)), "{refused}");
    }
}
