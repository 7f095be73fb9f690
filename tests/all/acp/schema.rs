//! The official schema of the protocol, version 1: each message by what it is.

use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::OnceLock;

const SCHEMA: &str = include_str!("../../acp/schema.json");

/// The definitions that messages of an agent are made of.
const DEFINITIONS: [&str; 13] = [
    "SessionNotification",
    "RequestPermissionRequest",
    "CancelRequestNotification",
    "InitializeResponse",
    "AuthenticateResponse",
    "NewSessionResponse",
    "LoadSessionResponse",
    "ResumeSessionResponse",
    "ListSessionsResponse",
    "CloseSessionResponse",
    "SetSessionModeResponse",
    "PromptResponse",
    "Error",
];

fn validators() -> &'static HashMap<&'static str, Validator> {
    static VALIDATORS: OnceLock<HashMap<&'static str, Validator>> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let whole: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        let of = |name: &'static str| {
            let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": whole["$defs"] });
            (name, jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}")))
        };
        DEFINITIONS.into_iter().map(of).collect()
    })
}

/// The definition of what a message has, and that.
fn part<'a>(message: &'a Value, asked: &HashMap<u64, String>) -> (&'static str, &'a Value) {
    if let Some(method) = message["method"].as_str() {
        let definition = match method {
            "session/update" => "SessionNotification",
            "session/request_permission" => "RequestPermissionRequest",
            "$/cancel_request" => "CancelRequestNotification",
            other => panic!("the program speaks of `{other}`: {message}"),
        };
        assert_eq!(message.get("id").is_some(), definition.ends_with("Request"), "{message}");
        return (definition, &message["params"]);
    }
    assert!(message.get("id").is_some(), "{message}");
    if message.get("error").is_some() {
        assert!(message.get("result").is_none(), "{message}");
        return ("Error", &message["error"]);
    }
    let method = message["id"].as_u64().and_then(|id| asked.get(&id)).map_or("", String::as_str);
    let definition = match method {
        "initialize" => "InitializeResponse",
        "session/new" => "NewSessionResponse",
        "session/load" => "LoadSessionResponse",
        "session/resume" => "ResumeSessionResponse",
        "session/list" => "ListSessionsResponse",
        "session/close" => "CloseSessionResponse",
        "session/set_mode" => "SetSessionModeResponse",
        "session/prompt" => "PromptResponse",
        other => panic!("nothing was asked by `{other}`: {message}"),
    };
    (definition, &message["result"])
}

/// Holds messages of the program against the schema. `asked` has the methods of the editor's requests.
#[track_caller]
pub(super) fn check(messages: &[Value], asked: &HashMap<u64, String>) {
    for message in messages {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let (definition, part) = part(message, asked);
        let errors: Vec<String> = validators()[definition].iter_errors(part).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "no {definition}: {errors:?}\n{part:#}");
    }
}

/// The schema is strict enough to find what is wrong.
#[test]
fn the_schema_refuses_what_is_none_of_its_messages() {
    let update = |update: Value| json!({ "sessionId": "s", "update": update });
    let text = json!({ "type": "text", "text": "hello" });
    let validator = &validators()["SessionNotification"];
    assert!(validator.is_valid(&update(json!({ "sessionUpdate": "agent_message_chunk", "content": text }))));
    for wrong in [
        json!({ "sessionUpdate": "agent_message_chunk", "content": "hello" }),
        json!({ "sessionUpdate": "agent_message", "content": text }),
        json!({ "sessionUpdate": "tool_call", "title": "without an id" }),
        json!({ "sessionUpdate": "usage_update", "used": "5", "size": 6 }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [{ "type": "diff", "path": "x" }] }),
    ] {
        assert!(!validator.is_valid(&update(wrong.clone())), "{wrong}");
    }
    assert!(!validators()["PromptResponse"].is_valid(&json!({ "stopReason": "done" })));
    assert!(!validators()["InitializeResponse"].is_valid(&json!({ "protocolVersion": "1" })));
}
