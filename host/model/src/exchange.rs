//! Requests and events, shaped like `bub:model/exchange`.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::raw_object::RawObject;

/// One chat request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// `provider:model`; `None`: the configured model and its fallbacks.
    pub model: Option<String>,
    /// Chat messages in OpenAI's format. Servers of that protocol get them byte for byte.
    pub messages: Vec<RawObject>,
    /// Tools that the model may call. If empty, the body has no `tools`.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Maximum tokens of the answer; `None`: as configured.
    pub max_tokens: Option<u64>,
    /// A JSON object of model-specific options: `reasoning_effort`, `temperature`.
    pub options: Option<String>,
    /// Whether to stream the answer.
    pub stream: bool,
}

/// A tool offered to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name that the model calls.
    pub name: String,
    /// The description of the tool, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: RawObject,
    /// Serialized once: every request that offers the tool contains it.
    written: OnceLock<String>,
}

impl ToolSpec {
    /// A tool with the name that the model uses (`memory_save`, not `memory.save`), a description for the model, and
    /// the JSON Schema of its arguments.
    pub fn new(name: String, description: String, parameters: RawObject) -> ToolSpec {
        ToolSpec { name, description, parameters, written: OnceLock::new() }
    }

    /// The tool as in chat completions.
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
/// Text and reasoning are streamed. Then follow, at most once each and in this order: tool calls, usage.
/// [`Event::Finish`] is last, exactly once, in every answer that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Text of the answer.
    Text(String),
    /// Reasoning of the model.
    Reasoning(String),
    /// All tool calls of the answer, complete.
    ToolCalls(Vec<ToolCall>),
    /// A JSON object that begins with `completion_tokens`, `prompt_tokens`, `total_tokens`, as on tapes.
    Usage(String),
    /// `stop`, `length`, `tool_calls`, `content_filter`, or another reason of the server.
    Finish(String),
}

/// One call of a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's id of the call, or `call_INDEX` without one.
    pub id: Option<String>,
    /// The name that the model uses.
    pub name: String,
    /// Should be a JSON object; a model may write anything. `{}` if it wrote nothing.
    pub arguments: String,
}
