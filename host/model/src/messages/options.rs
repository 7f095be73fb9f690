//! Translation of options to the Messages API.

use serde_json::{Map, Value, json};

use super::thinking;

/// Sampling and caching hints without an equivalent in this API. They are dropped, because a fallback model of another
/// provider may get the same arguments. Options that change the meaning of an answer are not among them: the server
/// rejects them itself.
const UNKNOWN_HINTS: &[&str] = &[
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "n",
    "presence_penalty",
    "prompt_cache_key",
    "safety_identifier",
    "seed",
    "store",
    "top_logprobs",
    "verbosity",
];

/// Members of a body other than model, messages and tools.
pub(super) struct Options {
    /// Sent if there are tools.
    pub(super) tool_choice: Option<Value>,
    /// All others, in order.
    pub(super) others: Map<String, Value>,
}

impl Options {
    /// Translates `options` for `model`. `amid_calls`: the model continues after tool results.
    pub(super) fn read(options: &Map<String, Value>, model: &str, max_tokens: u64, amid_calls: bool) -> Options {
        let mut others = options.clone();
        for hint in UNKNOWN_HINTS {
            others.shift_remove(*hint);
        }
        let one_at_a_time = others.shift_remove("parallel_tool_calls") == Some(Value::Bool(false));
        let tool_choice = tool_choice(others.shift_remove("tool_choice"), one_at_a_time);
        if let Some(stop) = others.shift_remove("stop") {
            let stop = if stop.is_string() { json!([stop]) } else { stop };
            others.entry("stop_sequences").or_insert(stop);
        }
        if let Some(Value::String(user)) = others.shift_remove("user") {
            others.entry("metadata").or_insert(json!({ "user_id": user }));
        }
        let effort = others.shift_remove("reasoning_effort");
        if let Some(effort) = effort.as_ref().and_then(Value::as_str) {
            let is_forced = ["any", "tool"].iter().any(|kind| tool_choice.as_ref().and_then(kind_of) == Some(*kind));
            thinking::ask_for(effort, model, max_tokens, amid_calls || is_forced, &mut others);
        }
        Options { tool_choice, others }
    }

    /// Forbids calls: the tools are only listed because of earlier calls.
    pub(super) fn choose_no_tool(&mut self) {
        self.tool_choice = Some(json!({ "type": "none" }));
    }
}

/// Translates `auto`, `required`, `none` or a function name. Values in this API's format are kept.
fn tool_choice(choice: Option<Value>, one_at_a_time: bool) -> Option<Value> {
    let mut choice = match choice {
        None if one_at_a_time => json!({ "type": "auto" }),
        None => return None,
        Some(Value::String(choice)) => match choice.as_str() {
            "required" => json!({ "type": "any" }),
            other => json!({ "type": other }),
        },
        Some(choice) => match choice.pointer("/function/name") {
            Some(name) => json!({ "type": "tool", "name": name }),
            None => choice,
        },
    };
    if one_at_a_time
        && kind_of(&choice) != Some("none")
        && let Some(choice) = choice.as_object_mut()
    {
        choice.insert("disable_parallel_tool_use".to_owned(), true.into());
    }
    Some(choice)
}

fn kind_of(choice: &Value) -> Option<&str> {
    choice.get("type")?.as_str()
}
