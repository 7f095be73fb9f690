//! What is said to a model and what it says: the shape of `bub:model/exchange`, free of wasm.

/// One chat request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// `provider:model`; `None`: the settings' model, and its fallbacks.
    pub model: Option<String>,
    /// Chat messages, a JSON object each, in the shape of OpenAI's chat completions. They reach a server of that
    /// protocol byte for byte.
    pub messages: Vec<String>,
    /// What the model may call. Empty: nothing, and the body has no `tools`.
    pub tools: Vec<ToolSpec>,
    /// Tokens that the answer may have; `None`: as the settings say.
    pub max_tokens: Option<u64>,
    /// A JSON object of what only some models know: `reasoning_effort`, `temperature`.
    pub options: Option<String>,
    /// Whether the answer should come in pieces as it is made.
    pub stream: bool,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name that the model uses, `memory_save` and not `memory.save`.
    pub name: String,
    /// What the model reads to decide whether to call it.
    pub description: String,
    /// JSON Schema of its arguments, as JSON text.
    pub parameters: String,
}

/// A part of an answer.
///
/// Text and reasoning come as the model makes them. Then, at most once each and in this order: tool calls, usage.
/// [`Event::Finish`] comes last, exactly once, in every answer that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Words of the answer.
    Text(String),
    /// Words that the model says to itself.
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
