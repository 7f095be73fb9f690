//! Estimates for chat messages and for the tools that a request offers.

use crate::estimate;
use serde_json::Value;

/// Tokens of a message besides its text: its role and delimiters.
const MESSAGE: u64 = 4;

/// Tokens of a tool call besides its texts; the result repeats its id.
const CALL: u64 = 12;

/// Tokens of a picture, a sound or a file, whatever its size: what providers count for a picture at full detail.
const MEDIUM: u64 = 1_000;

/// Tokens of a tool besides its texts.
const TOOL: u64 = 8;

/// Tokens of an OpenAI chat message.
pub fn message(message: &Value) -> u64 {
    let text = |key: &str| message.get(key).and_then(Value::as_str).map_or(0, estimate);
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.map_or(0, |calls| calls.iter().map(call).sum());
    MESSAGE + message.get("content").map_or(0, content) + text("name") + calls
}

/// Tokens of a message that consists of one text.
pub fn plain(text: &str) -> u64 {
    MESSAGE + estimate(text)
}

/// Tokens of a tool in a request.
pub fn tool(name: &str, description: &str, parameters: &str) -> u64 {
    TOOL + estimate(name) + estimate(description) + estimate(parameters)
}

/// An upper bound for a message, from its length in JSON: no script has more tokens than bytes. `None` if the message
/// has content parts, whose JSON says nothing about their tokens.
pub fn message_at_most(message: &str) -> Option<u64> {
    let mut contents = message.match_indices("\"content\"").map(|(at, key)| message[at + key.len()..].trim_start());
    let has_parts = contents.any(|rest| rest.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('[')));
    (!has_parts).then_some(message.len() as u64 + MESSAGE)
}

/// An upper bound for a tool, from the length of its texts.
pub fn tool_at_most(name: &str, description: &str, parameters: &str) -> u64 {
    TOOL + (name.len() + description.len() + parameters.len()) as u64
}

fn content(content: &Value) -> u64 {
    match content {
        Value::String(text) => estimate(text),
        Value::Array(parts) => parts.iter().map(part).sum(),
        _ => 0,
    }
}

fn part(part: &Value) -> u64 {
    part.get("text").and_then(Value::as_str).map_or(MEDIUM, estimate)
}

fn call(call: &Value) -> u64 {
    let function = call.get("function");
    let text = |key: &str| function.and_then(|function| function.get(key)?.as_str()).map_or(0, estimate);
    CALL + text("name") + text("arguments")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_and_media_weigh_too() {
        let text = json!({"role": "user", "content": "abcdefgh"});
        assert_eq!(message(&text), MESSAGE + 2);
        let parts = json!({"role": "user", "content": [{"type": "text", "text": "abcdefgh"}, {"type": "image_url", "image_url": {"url": "data:x"}}]});
        assert_eq!(message(&parts), MESSAGE + 2 + MEDIUM);
        let calls = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "x", "function": {"name": "bash", "arguments": "{\"cmd\":1}"}}]});
        assert_eq!(message(&calls), MESSAGE + CALL + 1 + 3);
        assert_eq!(message(&json!({"role": "tool"})), MESSAGE);
    }

    #[test]
    fn no_message_exceeds_its_upper_bound() {
        let texts = ["", "a", "plain words", "ありがとう", "⇒➤⬤", "🦀🦀🦀", "안녕하세요", "、。「」", "\n\t\""];
        for text in texts {
            let called = json!({"role": "assistant", "content": text, "tool_calls": [{"id": "", "type": "function", "function": {"name": text, "arguments": text}}]});
            for message in [json!({"role": "user", "content": text}), called] {
                let most = message_at_most(&message.to_string());
                assert!(most.is_some_and(|most| super::message(&message) <= most), "{message}");
            }
        }
        assert_eq!(message_at_most(r#"{"role": "user", "content" : [{"type": "image_url"}]}"#), None);
    }
}
