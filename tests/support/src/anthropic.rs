//! Streams of Anthropic's Messages API.

use serde_json::{Value, json};

/// The body of an answer: each event under its own name.
pub fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// The event that begins every answer.
pub fn start() -> Value {
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 1,
        "service_tier": "standard",
    });
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    }})
}

/// The begin of a content block.
pub fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

/// A piece of a content block.
pub fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

/// A piece of a text.
pub fn said(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

/// The end of a content block.
pub fn end(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

/// The events that end an answer for that reason.
pub fn stop(reason: &str) -> Vec<Value> {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    vec![
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 25}}),
        json!({"type": "message_stop"}),
    ]
}

/// An answer of one text.
pub fn words(text: &str) -> Vec<Value> {
    let block = json!({"type": "text", "text": ""});
    [vec![start(), begin(0, block), json!({"type": "ping"}), said(0, text), end(0)], stop("end_turn")].concat()
}

/// An answer of one call whose arguments come in pieces.
pub fn call(id: &str, name: &str, pieces: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let pieces = pieces.iter().map(|piece| delta(0, json!({"type": "input_json_delta", "partial_json": piece})));
    let begun: Vec<Value> = [start(), begin(0, block)].into_iter().chain(pieces).collect();
    [begun, vec![end(0)], stop("tool_use")].concat()
}
