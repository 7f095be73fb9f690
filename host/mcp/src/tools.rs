//! The tools of plugins as MCP tools.

use bub_runtime::host::Host;
use bub_runtime::plugin::{Tool as PluginTool, is_called, model_name};
use bub_types::text::escaped;
use bub_types::{Effect, suggest};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// The tool that runs a turn. A plugin's tool of that name is left out.
pub(crate) const RUN_TURN: &str = "run_turn";

/// The longest part of an unknown name that is quoted, in bytes.
const MAX_NAME: usize = 64;

/// All tools that a model may call, and the one that runs a turn.
pub(crate) fn list(host: &Host) -> Vec<Tool> {
    let plugins = host.plugins();
    let tools = plugins.iter().flat_map(|plugin| &plugin.tools).filter(|tool| is_listed(tool)).map(converted);
    std::iter::once(run_turn()).chain(tools).collect()
}

/// Checks that there is a tool of that name.
///
/// # Errors
///
/// There is none. The error names those that are spelled nearly so.
pub(crate) fn check_name(host: &Host, name: &str) -> Result<(), ErrorData> {
    let plugins = host.plugins();
    let mut tools = plugins.iter().flat_map(|plugin| &plugin.tools).filter(|tool| is_listed(tool));
    if tools.any(|tool| is_called(&tool.name, name)) {
        return Ok(());
    }
    let names: Vec<String> = list(host).into_iter().map(|tool| tool.name.into_owned()).collect();
    let close = match name.len() > MAX_NAME {
        true => Vec::new(),
        false => suggest::several(name, names.iter().map(String::as_str), 3),
    };
    let hint = match close.is_empty() {
        true => "`tools/list` names those that there are".to_owned(),
        false => format!("did you mean `{}`?", close.join("`, `")),
    };
    Err(ErrorData::invalid_params(format!("there is no tool `{}`: {hint}", escaped(name, MAX_NAME)), None))
}

fn is_listed(tool: &PluginTool) -> bool {
    tool.for_model && !is_called(&tool.name, RUN_TURN)
}

fn converted(tool: &PluginTool) -> Tool {
    // The plugin was loaded, so this is an object.
    let parameters: JsonObject = serde_json::from_str(&tool.parameters).unwrap_or_default();
    Tool::new(model_name(&tool.name), tool.description.clone(), Arc::new(typed(parameters)))
        .with_annotations(annotations(tool.effect, tool.reads_outside))
}

/// Clients require the type, which plugins may leave out.
fn typed(mut schema: JsonObject) -> JsonObject {
    schema.entry("type").or_insert_with(|| Value::from("object"));
    schema
}

/// Hints for clients, from what the plugin declares: `read` changes nothing; others may overwrite, send or run.
fn annotations(effect: Effect, reads_outside: bool) -> ToolAnnotations {
    let is_read = effect == Effect::Read;
    let hints = ToolAnnotations::new().read_only(is_read).open_world(reads_outside || effect == Effect::Send);
    if is_read { hints } else { hints.destructive(matches!(effect, Effect::Write | Effect::Run)) }
}

fn run_turn() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "message": { "type": "string", "description": "What the agent is asked" },
            "session": {
                "type": "string",
                "description": "Session to continue or start; without it, the session of this client",
            },
        },
        "required": ["message"],
        "additionalProperties": false,
    });
    let description = "Runs a whole turn of the agent, with its model, tools and memory, and returns its answer. \
        Sends progress if the request has a progress token; cancelling the request ends the turn.";
    Tool::new(RUN_TURN, description, Arc::new(schema.as_object().cloned().unwrap_or_default()))
        .with_annotations(annotations(Effect::Run, true))
}

/// The result of a tool, which is JSON: a text as it is, anything else as JSON.
pub(crate) fn result(outcome: &Result<String, bub_types::Error>) -> CallToolResult {
    match outcome {
        Ok(result) => {
            let text = serde_json::from_str::<String>(result).unwrap_or_else(|_| result.clone());
            CallToolResult::success(vec![ContentBlock::text(text)])
        }
        Err(error) => failed(&error.message),
    }
}

/// A result that says what went wrong, which the client's model can read.
pub(crate) fn failed(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}
