//! The tools of the agent loop itself: spilled results, the choice of model, usage, and subagents.

mod choice;
mod help;
pub mod session;
mod spill;
mod subagent;
mod usage;

use crate::bub::tools::schema::{Effect, ToolSpec};
use crate::bub::types::types::ErrorKind;
use crate::{Error, Turn, json};
use serde_json::{Value, json};

/// All of them, in the order of a request.
pub fn list() -> Vec<ToolSpec> {
    vec![
        ToolSpec {
            for_model: true,
            ..tool(
                "spill.read",
                "Read a tool result that was too long for the conversation, in chunks of about 16 KB. The note that stands in its place names the handle.",
                json!({"type": "object", "properties": {
                    "handle": {"type": "string", "description": "From the note."},
                    "cursor": {"type": "integer", "minimum": 0, "description": "The first chunk, from 0 [default: 0]."},
                    "count": {"type": "integer", "minimum": 1, "maximum": 4, "description": "Chunks, at most 4 [default: 1]."},
                    "from_end": {"type": "boolean", "description": "Count the cursor from the last chunk back [default: false]."},
                }, "required": ["handle"]}),
            )
        },
        ToolSpec {
            for_model: true,
            ..tool(
                "subagent",
                "Give a task to a second agent and get its final answer. It does not see this conversation unless it inherits it, so say all that it has to know.",
                json!({"type": "object", "properties": {
                    "prompt": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}], "description": "The task, as text or as content parts."},
                    "model": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "`provider:model`; the session's own unless given."},
                    "session": {"type": "string", "description": "`temp`: a conversation that is not kept. `inherit`: this one, with all that was said. Anything else: the session of that name, which is kept [default: temp]."},
                    "allowed_tools": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "description": "The only tools that it may use; all but `subagent` unless given."},
                    "allowed_skills": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "description": "The only skills that it is shown."},
                }, "required": ["prompt"]}),
            )
        },
        tool("help", "Show the commands.", json!({"type": "object", "properties": {}})),
        tool("usage", "Show the tokens of this session and of today.", json!({"type": "object", "properties": {}})),
        tool("quit", "Stop what this session has running.", json!({"type": "object", "properties": {}})),
        ToolSpec {
            effect: Effect::Write,
            ..tool(
                "model",
                "Ask another model in this session, from the next turn on. Without one, the models are listed.",
                json!({"type": "object", "properties": {
                    "model_id": {"type": "string", "description": "`provider:model` [default: list them]."},
                }}),
            )
        },
        ToolSpec {
            effect: Effect::Write,
            ..tool(
                "selector",
                "Let another plugin select what of this session a model is told. Without one, they are listed.",
                json!({"type": "object", "properties": {
                    "name": {"type": "string", "description": "A plugin; `simple`: nothing of earlier turns; `default`: as it is configured [default: list them]."},
                }}),
            )
        },
        ToolSpec {
            effect: Effect::Write,
            ..tool(
                "reasoning_effort",
                "Let the model think more or less in this session, from the next turn on.",
                json!({"type": "object", "properties": {
                    "reasoning_effort": {"type": "string", "description": "`minimal`, `low`, `medium`, `high`, `xhigh` or `max`, as far as the model knows them; `none` leaves it to the model."},
                }, "required": ["reasoning_effort"]}),
            )
        },
        ToolSpec {
            effect: Effect::Write,
            ..tool(
                "session.name",
                "Call this session something, as `bub-wasm sessions` lists it. Without a name, say what it is called.",
                json!({"type": "object", "properties": {
                    "name": {"type": "string", "description": "At most 100 characters; `none` takes the name away [default: say it]."},
                }}),
            )
        },
    ]
}

/// The result of a call, as JSON.
pub fn call(turn: &Turn, name: &str, arguments: &str) -> Result<String, Error> {
    let arguments = json::value(arguments);
    let text = match name {
        "spill.read" => spill::read(turn, &arguments)?,
        "subagent" => subagent::run(turn, &arguments)?,
        "help" => help::text(turn)?,
        "usage" => usage::text(turn)?,
        "quit" => "Session tasks stopped.".to_owned(),
        "model" => session::model(turn, &arguments)?,
        "selector" => session::selector(turn, &arguments)?,
        "session.name" => session::name(turn, &arguments)?,
        "reasoning_effort" => session::reasoning_effort(turn, &arguments)?,
        other => return Err(Error::new(ErrorKind::NotFound, format!("there is no tool `{other}`"))),
    };
    Ok(Value::from(text).to_string())
}

/// A read-only tool for people.
fn tool(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: parameters.to_string(),
        for_model: false,
        effect: Effect::Read,
        reads_outside: false,
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
