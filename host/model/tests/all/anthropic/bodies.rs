//! Conversion of conversations.

use std::sync::Arc;

use serde_json::{Value, json};

use bub_model::{Request, ToolSpec};

use super::super::{ask, object};
use super::{Server, asked, body, events, settings, tool, words};

/// The `messages` of the body, without the mark of the cache's.
async fn turns(messages: &[Value]) -> Value {
    let text = body(asked(messages)).await["messages"].to_string();
    serde_json::from_str(&text.replace(r#","cache_control":{"type":"ephemeral"}"#, "")).unwrap()
}

fn calls(calls: &[(&str, &str)]) -> Value {
    let call = |(id, arguments): &(&str, &str)| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    json!({"role": "assistant", "content": "", "tool_calls": calls.iter().map(call).collect::<Vec<_>>()})
}

fn result(id: &str, content: &str) -> Value {
    json!({"role": "tool", "content": content, "tool_call_id": id, "name": "f"})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn turn(role: &str, blocks: Value) -> Value {
    json!({"role": role, "content": blocks})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn used(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": input})
}

fn answered(id: &str, content: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [text(content)]})
}

fn lost(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [text("the result of this call was lost")], "is_error": true})
}

#[tokio::test]
async fn a_step_after_two_calls_is_serialized_byte_for_byte() {
    let server = Server::start([events(&words("ok"))]).await;
    let request = Request {
        tools: vec![
            tool("a"),
            Arc::new(ToolSpec::new(
                "f".to_owned(),
                String::new(),
                object(r#"{ "properties": {"n": {"default": 1.50}} }"#),
            )),
        ],
        max_tokens: Some(99),
        ..asked(&[
            json!({"role": "system", "content": "Be \"kind\"."}),
            user("hi"),
            calls(&[("toolu_1", r#"{"n": 1.50}"#), ("toolu_2", "")]),
            result("toolu_1", "one"),
            result("toolu_2", ""),
            user("Go on."),
        ])
    };
    assert_eq!(ask(settings(&server), request).await.1, None);
    assert_eq!(
        server.seen()[0].body,
        concat!(
            r#"{"model":"fake","max_tokens":99,"tools":["#,
            r#"{"name":"a","description":"Does it","input_schema":{"type":"object"}},"#,
            r#"{"name":"f","input_schema":{"type":"object","properties": {"n": {"default": 1.50}} },"#,
            r#""cache_control":{"type":"ephemeral"}}],"#,
            r#""system":[{"type":"text","text":"Be \"kind\".","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"n": 1.50}},"#,
            r#"{"type":"tool_use","id":"toolu_2","name":"f","input":{}}]},"#,
            r#"{"role":"user","content":["#,
            r#"{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"}]},"#,
            r#"{"type":"tool_result","tool_use_id":"toolu_2"},"#,
            r#"{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#,
        )
    );
}

#[tokio::test]
async fn conversations_become_turns_in_alternation() {
    let table = [
        (
            "one side's messages in a row are one turn",
            vec![user("a"), user("b")],
            json!([turn("user", json!([text("a"), text("b")]))]),
        ),
        (
            "results come before words, wherever they stood",
            vec![
                user("a"),
                calls(&[("x", "{}")]),
                user("b"),
                json!({"role": "system", "content": "c"}),
                result("x", "r"),
            ],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([used("x", json!({}))])),
                turn("user", json!([answered("x", "r"), text("b"), text("<system-message>\nc\n</system-message>")])),
            ]),
        ),
        (
            "calls come behind words, wherever they stood",
            vec![user("a"), calls(&[("x", "{}")]), json!({"role": "assistant", "content": "w"}), result("x", "r")],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([text("w"), used("x", json!({}))])),
                turn("user", json!([answered("x", "r")])),
            ]),
        ),
        (
            "blank texts and empty messages are left out",
            vec![
                user("a"),
                json!({"role": "assistant", "content": " \n"}),
                json!({"role": "user", "content": null}),
                user("b"),
            ],
            json!([turn("user", json!([text("a"), text("b")]))]),
        ),
        (
            "a model that spoke last is told to go on",
            vec![user("a"), json!({"role": "assistant", "content": "b"})],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([text("b")])),
                turn("user", json!([text("Continue.")]))
            ]),
        ),
        (
            "a model that spoke first answers somebody",
            vec![json!({"role": "assistant", "content": "b"}), user("c")],
            json!([
                turn("user", json!([text("(The conversation has begun before this.)")])),
                turn("assistant", json!([text("b")])),
                turn("user", json!([text("c")])),
            ]),
        ),
        (
            "calls without a result get one",
            vec![
                user("a"),
                calls(&[("x", "{}"), ("y", "{}")]),
                result("y", "r"),
                json!({"role": "assistant", "content": "b"}),
                calls(&[("z", "{}")]),
            ],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([used("x", json!({})), used("y", json!({}))])),
                turn("user", json!([answered("y", "r"), lost("x")])),
                turn("assistant", json!([text("b"), used("z", json!({}))])),
                turn("user", json!([lost("z")])),
            ]),
        ),
        (
            "a result without a call is words",
            vec![result("x", "r"), user("a")],
            json!([turn("user", json!([text("(The result of an earlier call of `f`:)"), text("r"), text("a")]))]),
        ),
        (
            "a result without an id is that of the first call that waits",
            vec![
                user("a"),
                calls(&[("", "{}"), ("", "{}")]),
                json!({"role": "tool", "content": "1"}),
                json!({"role": "tool", "content": "2"}),
            ],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([used("call", json!({})), used("call_2", json!({}))])),
                turn("user", json!([answered("call", "1"), answered("call_2", "2")])),
            ]),
        ),
        (
            "ids that come again, or that are none, are made fit",
            vec![
                user("a"),
                calls(&[("call_0", "{}")]),
                result("call_0", "1"),
                calls(&[("call_0", "{}"), ("f:0", "{}")]),
                result("f:0", "3"),
                result("call_0", "2"),
            ],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([used("call_0", json!({}))])),
                turn("user", json!([answered("call_0", "1")])),
                turn("assistant", json!([used("call_0_2", json!({})), used("f_0", json!({}))])),
                turn("user", json!([answered("f_0", "3"), answered("call_0_2", "2")])),
            ]),
        ),
        (
            "arguments that are no object are kept as a text",
            vec![user("a"), calls(&[("x", "[1]")]), result("x", "r")],
            json!([
                turn("user", json!([text("a")])),
                turn("assistant", json!([used("x", json!({"arguments": "[1]"}))])),
                turn("user", json!([answered("x", "r")])),
            ]),
        ),
    ];
    for (what, messages, wanted) in table {
        assert_eq!(turns(&messages).await, wanted, "{what}");
    }
}

#[tokio::test]
async fn only_the_system_messages_at_the_front_are_the_system_prompt() {
    let system = |text: &str| json!({"role": "system", "content": text});
    let messages =
        [system("a"), json!({"role": "developer", "content": [text("b")]}), system(" "), user("c"), system("d")];
    let body = body(asked(&messages)).await;
    let marked = json!({"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}});
    assert_eq!(body["system"], json!([text("a"), marked]));
    let last = &body["messages"][0]["content"][1]["text"];
    assert_eq!(last, "<system-message>\nd\n</system-message>");
}

#[tokio::test]
async fn a_failed_tool_is_marked_as_an_error() {
    for (content, failed) in [
        (r#"{"kind": "denied", "message": "no"}"#, true),
        (r#"{"kind": "tool", "message": "no", "details": {"a": 1}}"#, true),
        (r#"{"kind": "denied", "message": "no", "x": 1}"#, false),
        (r#"{"kind": "weather", "message": "sunny"}"#, false),
        ("denied", false),
    ] {
        let turns = turns(&[user("a"), calls(&[("x", "{}")]), result("x", content)]).await;
        let result = &turns[2]["content"][0];
        assert_eq!(result["is_error"] == json!(true), failed, "{content}");
        assert_eq!(result["content"], json!([text(content)]));
    }
}
