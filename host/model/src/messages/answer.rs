//! Conversion of documents of the Messages API to events.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::calls::TooManyCalls;
use crate::exchange::Event;

/// Processes one event of a stream, or a whole message. Unknown events and blocks are ignored: new ones may be added at
/// any time.
pub(crate) fn take_in(answer: &mut Answer, document: &Value) -> Result<Vec<Event>, TooManyCalls> {
    let index = document.get("index").and_then(Value::as_u64).unwrap_or_default();
    let mut events = Vec::new();
    match document.get("type").and_then(Value::as_str).unwrap_or_default() {
        "message_start" => {
            if let Some(message) = document.get("message") {
                answer.has_choice = true;
                count(answer, message.get("usage"));
            }
        }
        "content_block_start" => events.extend(begin(answer, index, document.get("content_block"))?),
        "content_block_delta" => events.extend(go_on(answer, index, document.get("delta"))),
        "message_delta" => {
            stop(answer, document.get("delta"));
            count(answer, document.get("usage"));
        }
        "message_stop" => answer.is_over = true,
        "message" => {
            answer.has_choice = true;
            let blocks = document.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for (index, block) in (0..).zip(blocks) {
                events.extend(begin(answer, index, Some(block))?);
            }
            stop(answer, Some(document));
            count(answer, document.get("usage"));
        }
        _ => {}
    }
    Ok(events)
}

/// Usage in the format of chat completions. This API reports tokens read from and written to the cache separately from
/// the rest of the prompt.
pub(crate) fn log(usage: &Map<String, Value>) -> Map<String, Value> {
    let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
    let (read, written) = (tokens("cache_read_input_tokens"), tokens("cache_creation_input_tokens"));
    let prompt = tokens("input_tokens").saturating_add(read).saturating_add(written);
    let completion = tokens("output_tokens");
    let mut log = Map::new();
    log.insert("completion_tokens".to_owned(), completion.into());
    log.insert("prompt_tokens".to_owned(), prompt.into());
    log.insert("total_tokens".to_owned(), prompt.saturating_add(completion).into());
    log.insert("prompt_tokens_details".to_owned(), json!({ "cached_tokens": read, "cache_creation_tokens": written }));
    let thought = usage.get("output_tokens_details").and_then(|details| details.get("thinking_tokens")?.as_u64());
    if let Some(thought) = thought {
        log.insert("completion_tokens_details".to_owned(), json!({ "reasoning_tokens": thought }));
    }
    log
}

/// The beginning of a block, or all of it.
fn begin(answer: &mut Answer, index: u64, block: Option<&Value>) -> Result<Option<Event>, TooManyCalls> {
    let Some(block) = block else {
        return Ok(None);
    };
    match said(block, "type").unwrap_or_default() {
        "text" => Ok(said(block, "text").map(|text| Event::Text(text.to_owned()))),
        "thinking" => Ok(said(block, "thinking").map(|text| Event::Reasoning(text.to_owned()))),
        "tool_use" => {
            answer.calls.begin(index, said(block, "id"), said(block, "name").unwrap_or_default())?;
            // Empty in a stream, where the input follows in deltas.
            if let Some(input) = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()))
            {
                answer.calls.append(index, &input.to_string());
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

fn go_on(answer: &mut Answer, index: u64, delta: Option<&Value>) -> Option<Event> {
    let delta = delta?;
    match said(delta, "type")? {
        "text_delta" => said(delta, "text").map(|text| Event::Text(text.to_owned())),
        "thinking_delta" => said(delta, "thinking").map(|text| Event::Reasoning(text.to_owned())),
        "input_json_delta" => {
            answer.calls.append(index, said(delta, "partial_json")?);
            None
        }
        _ => None,
    }
}

fn stop(answer: &mut Answer, delta: Option<&Value>) {
    let Some(reason) = delta.and_then(|delta| said(delta, "stop_reason")) else {
        return;
    };
    let reason = match reason {
        "end_turn" | "stop_sequence" => "stop",
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        other => other,
    };
    answer.reason = Some(reason.to_owned());
}

/// Counts are totals so far; a later report may omit earlier counts.
fn count(answer: &mut Answer, usage: Option<&Value>) {
    let Some(usage) = usage.and_then(Value::as_object) else {
        return;
    };
    let known = answer.usage.get_or_insert_default();
    known.extend(usage.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone())));
}

/// A member that is a non-empty string.
fn said<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}
