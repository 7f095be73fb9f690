//! Spans of tool calls, and the texts of conversations as spans have them, by OpenTelemetry's conventions for generative
//! AI. Texts are in spans only if the user wants them there.

use crate::turn::Turn;
use bub_model::RawObject;
use bub_types::{Error, ErrorKind, ToolCall};
use serde_json::{Value, json};
use tracing::Span;
use tracing::field::Empty;

/// The longest text of a part of a message, in bytes.
const MAX_PART: usize = 8 << 10;

/// All messages of a request, in bytes: the latest are kept.
const MAX_MESSAGES: usize = 64 << 10;

/// A tool call begins: the span is around the hooks, the question to the owner and the tool.
pub(super) fn tool(turn: &Turn, call: &ToolCall) -> Span {
    if !bub_telemetry::is_on() {
        return Span::none();
    }
    let config = &turn.scope.host.config;
    let span = bub_telemetry::span!(
        "execute_tool",
        otel.name = format!("execute_tool {}", call.name),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.name,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = call.id,
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        plugin = turn.tool(&call.name).map(|(plugin, _)| plugin.name.as_str()),
        outcome = Empty,
        error.type = Empty,
    );
    if config.telemetry.content && !span.is_disabled() {
        span.record("gen_ai.tool.call.arguments", cut(config.redact(&call.arguments)));
    }
    span
}

/// A tool call has ended. What an error says is content: it may quote what the tool has read.
pub(super) fn tool_ends(span: &Span, turn: &Turn, outcome: &Result<String, Error>) {
    if span.is_disabled() {
        return;
    }
    let config = &turn.scope.host.config;
    let (said, result) = match outcome {
        Ok(result) => ("result", result),
        Err(error) => {
            span.record("error.type", error.kind.name());
            (if error.kind == ErrorKind::Denied { "denied" } else { "error" }, &error.message)
        }
    };
    span.record("outcome", said);
    if config.telemetry.content {
        span.record("gen_ai.tool.call.result", cut(config.redact(result)));
    }
}

/// The messages of a request as JSON of the conventions.
pub(super) fn input_messages<'a>(
    messages: impl DoubleEndedIterator<Item = &'a RawObject>,
    redact: impl Fn(&str) -> String,
) -> String {
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for message in messages.rev() {
        let message = input_message(&serde_json::from_str(message).unwrap_or_default(), &redact);
        bytes += message.to_string().len();
        if bytes > MAX_MESSAGES {
            break;
        }
        kept.push(message);
    }
    kept.reverse();
    Value::Array(kept).to_string()
}

fn input_message(message: &Value, redact: &impl Fn(&str) -> String) -> Value {
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    let part = |text: &str| json!({ "type": "text", "content": cut(redact(text)) });
    let role = text("role").unwrap_or_default();
    if role == "tool" {
        let response = cut(redact(text("content").unwrap_or_default()));
        let part = json!({ "type": "tool_call_response", "id": text("tool_call_id"), "response": response });
        return json!({ "role": role, "parts": [part] });
    }
    let mut parts: Vec<Value> = match message.get("content") {
        Some(Value::String(text)) => vec![part(text)],
        Some(Value::Array(list)) => list
            .iter()
            .map(|one| match one.get("text").and_then(Value::as_str) {
                Some(text) => part(text),
                // Media are no text, and large.
                None => json!({ "type": one.get("type") }),
            })
            .collect(),
        _ => Vec::new(),
    };
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function");
        let text = |key: &str| function.and_then(|function| function.get(key)?.as_str()).unwrap_or_default();
        let arguments = cut(redact(text("arguments")));
        parts.push(json!({ "type": "tool_call", "id": call.get("id"), "name": text("name"), "arguments": arguments }));
    }
    json!({ "role": role, "parts": parts })
}

/// The answer of a model as JSON of the conventions.
pub(super) fn output_message(
    text: &str,
    calls: &[ToolCall],
    finish: Option<&str>,
    redact: impl Fn(&str) -> String,
) -> String {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({ "type": "text", "content": cut(redact(text)) }));
    }
    for ToolCall { id, name, arguments } in calls.iter().take(MAX_PART / 512) {
        let arguments = cut(redact(arguments));
        parts.push(json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments }));
    }
    json!([{ "role": "assistant", "parts": parts, "finish_reason": finish }]).to_string()
}

/// The beginning of a text whose secrets were taken out before.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_PART));
    text
}
