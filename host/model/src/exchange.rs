//! Requests and events, shaped like `bub:model/exchange`.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::raw_object::RawObject;

/// One chat request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// `provider:model`; `None`: the settings' model, and its fallbacks.
    pub model: Option<String>,
    /// Chat messages in the shape of OpenAI's chat completions. They reach a server of that protocol byte for byte.
    pub messages: Vec<RawObject>,
    /// What the model may call. Empty: nothing, and the body has no `tools`.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Tokens that the answer may have; `None`: as the settings say.
    pub max_tokens: Option<u64>,
    /// A JSON object of what only some models know: `reasoning_effort`, `temperature`.
    pub options: Option<String>,
    /// Whether the answer should come in pieces as it is made.
    pub stream: bool,
}

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name that the model calls.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: RawObject,
    /// Serialized once: every request that offers the tool contains it.
    written: OnceLock<String>,
}

impl ToolSpec {
    /// A tool by the name that the model uses, `memory_save` and not `memory.save`; what the model reads to decide whether
    /// to call it; and the JSON Schema of its arguments.
    pub fn new(name: String, description: String, parameters: RawObject) -> ToolSpec {
        ToolSpec { name, description, parameters, written: OnceLock::new() }
    }

    /// The tool as chat completions have it.
    pub fn written(&self) -> &str {
        self.written.get_or_init(|| {
            let [name, description] = [&self.name, &self.description].map(|text| Value::from(text.as_str()));
            let parameters = &*self.parameters;
            format!(
                "{{\"type\":\"function\",\"function\":{{\"name\":{name},\"description\":{description},\"parameters\":{parameters}}}}}"
            )
        })
    }
}

/// A part of an answer.
///
/// Text and reasoning come as the model makes them. Then, at most once each and in this order: tool calls, usage.
/// [`Event::Finish`] comes last, exactly once, in every answer that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Text of the answer.
    Text(String),
    /// Reasoning of the model.
    Reasoning(String),
    /// All calls of the answer, whole.
    ToolCalls(Vec<ToolCall>),
    /// A JSON object. It begins with `completion_tokens`, `prompt_tokens`, `total_tokens`, as tapes have it.
    Usage(String),
    /// `stop`, `length`, `tool_calls`, `content_filter`, or what else the server calls it.
    Finish(String),
}

/// One call of a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's id of the call, or `call_INDEX` where it gave none.
    pub id: Option<String>,
    /// The name as the model knows it.
    pub name: String,
    /// Should be a JSON object; a model may write anything. `{}` where it wrote nothing.
    pub arguments: String,
}
