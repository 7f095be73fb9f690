//! Tool calls in words: kinds, titles and places. Names and arguments are strangers' texts, which never shape what is around
//! them.

use agent_client_protocol_schema::v1::{ToolCallLocation, ToolKind};
use bub_types::Effect;
use bub_types::text::{clipped, fence, one_line, shown};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Characters of a title's argument.
const MAX_TITLE: usize = 120;

/// The longest text of one content block, in characters.
const MAX_TEXT: usize = 32 << 10;

/// What kind of call it is. Only the program's own tools are known by their names: a plugin may call its tool `bash`.
pub(crate) fn kind(tool: &str, is_own: bool, effect: Option<Effect>) -> ToolKind {
    match (is_own, tool, effect) {
        (true, "web.fetch", _) => ToolKind::Fetch,
        (true, "tape.search" | "tool.search" | "memory.recall", _) => ToolKind::Search,
        (true, "bash" | "bash.output" | "bash.kill" | "subagent", _) => ToolKind::Execute,
        (true, "fs.write" | "fs.edit", _) => ToolKind::Edit,
        (true, "fs.read", _) => ToolKind::Read,
        (_, _, Some(Effect::Read)) => ToolKind::Read,
        (true, ..) => ToolKind::Other,
        (_, _, Some(Effect::Write)) => ToolKind::Edit,
        (_, _, Some(Effect::Run)) => ToolKind::Execute,
        _ => ToolKind::Other,
    }
}

/// The title of a call, on one line.
pub(crate) fn title(tool: &str, is_own: bool, arguments: &Value) -> String {
    let said = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match (is_own, tool) {
        (true, "fs.read") => format!("Read {}", quoted(said("path"))),
        (true, "fs.write") => format!("Write {}", quoted(said("path"))),
        (true, "fs.edit") => format!("Edit {}", quoted(said("path"))),
        (true, "bash") => format!("Run {}", quoted(said("cmd"))),
        (true, "web.fetch") => format!("Fetch {}", quoted(said("url"))),
        _ => {
            let first = arguments.as_object().and_then(|members| members.values().find_map(Value::as_str));
            match first.filter(|text| !text.trim().is_empty()) {
                Some(first) => format!("{} {}", quoted(tool), quoted(first)),
                None => quoted(tool),
            }
        }
    }
}

/// A text in a sentence.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", clipped(&one_line(text), MAX_TITLE).replace('`', "'"))
}

/// A text as a block of code that it cannot end.
pub(crate) fn block(text: &str) -> String {
    let text = clipped(&shown(text), MAX_TEXT);
    let fence = fence(&text);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A result as a block of code: the text that it is, or its JSON.
pub(crate) fn result(result: &str) -> Option<String> {
    match serde_json::from_str::<Value>(result) {
        Ok(Value::String(text)) if text.trim().is_empty() => None,
        Ok(Value::Null) => None,
        Ok(Value::String(text)) => Some(block(&text)),
        Ok(value) => Some(block(&format!("{value:#}"))),
        Err(_) => Some(block(result)),
    }
}

/// JSON as a value; what is no JSON is a text.
pub(crate) fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| Value::from(json))
}

/// The same, where it is not long; else its beginning as a text.
pub(crate) fn raw(json: &str) -> Value {
    if json.len() <= 2 * MAX_TEXT { parsed(json) } else { Value::from(clipped(json, MAX_TEXT)) }
}

/// The file of the workspace that a call of the program's own tools is about.
pub(crate) fn file(tool: &str, is_own: bool, arguments: &Value, workspace: &Path) -> Option<PathBuf> {
    if !is_own || !matches!(tool, "fs.read" | "fs.write" | "fs.edit") {
        return None;
    }
    let path = Path::new(arguments.get("path")?.as_str()?);
    let inside = path.strip_prefix(workspace).unwrap_or(path);
    let is_inside = inside.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (is_inside && inside.components().next().is_some()).then(|| workspace.join(inside))
}

/// Where an editor can follow a call.
pub(crate) fn locations(tool: &str, is_own: bool, arguments: &Value, workspace: &Path) -> Vec<ToolCallLocation> {
    let Some(file) = file(tool, is_own, arguments, workspace) else { return Vec::new() };
    // Tools count lines from 0.
    let key = if tool == "fs.read" { "offset" } else { "start" };
    let line = arguments.get(key).and_then(Value::as_u64).filter(|line| *line > 0);
    let line = line.and_then(|line| u32::try_from(line.saturating_add(1)).ok());
    vec![ToolCallLocation::new(file).line(line)]
}
