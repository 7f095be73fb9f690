//! Anthropic's Messages API, against a server on loopback that speaks it.

mod answers;
mod bodies;
mod failures;
mod media;
mod options;
mod program;
mod sent;

use std::sync::Arc;

use serde_json::{Value, json};

use bub_model::{Request, Settings, ToolSpec};

use super::object;
use super::server::{Answer, Server};

/// Settings that ask `server` as `anthropic:fake`.
fn settings(server: &Server) -> Settings {
    Settings { model: "anthropic:fake".to_owned(), ..super::settings(server) }
}

/// A stream of events, each under its own name, as the API sends them.
fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

fn events(events: &[Value]) -> Answer {
    Answer::new(200, "content-type: text/event-stream; charset=utf-8\r\n", &stream(events))
}

fn start() -> Value {
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 1,
        "service_tier": "standard",
    });
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    }})
}

fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn said(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn end(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn stop(reason: &str) -> Vec<Value> {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    vec![
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 25}}),
        json!({"type": "message_stop"}),
    ]
}

/// An answer of one text.
fn words(text: &str) -> Vec<Value> {
    let block = json!({"type": "text", "text": ""});
    [vec![start(), begin(0, block), json!({"type": "ping"}), said(0, text), end(0)], stop("end_turn")].concat()
}

/// An answer of one call whose arguments come in pieces.
fn call(id: &str, name: &str, pieces: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let pieces = pieces.iter().map(|piece| delta(0, json!({"type": "input_json_delta", "partial_json": piece})));
    let begun: Vec<Value> = [start(), begin(0, block)].into_iter().chain(pieces).collect();
    [begun, vec![end(0)], stop("tool_use")].concat()
}

/// The request of these messages.
fn asked(messages: &[Value]) -> Request {
    Request {
        messages: messages.iter().map(|message| object(&message.to_string())).collect(),
        stream: true,
        ..Request::default()
    }
}

fn tool(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name.to_owned(), "Does it".to_owned(), object(r#"{"type":"object"}"#)))
}

/// The body that arrives for `request`.
async fn body(request: Request) -> Value {
    body_of(|_| {}, request).await
}

async fn body_of(change: impl FnOnce(&mut Settings), request: Request) -> Value {
    let server = Server::start([events(&words("ok"))]).await;
    let mut settings = settings(&server);
    change(&mut settings);
    let (_, error) = super::ask(settings, request).await;
    assert_eq!(error, None);
    serde_json::from_str(&server.seen()[0].body).unwrap()
}
