//! Anthropic's Messages API: translation of requests and answers.
//!
//! `history` converts messages to turns, `part` content to blocks, `options` the rest; `answer` reads documents.
//!
//! The server caches the prefix of a request up to three breakpoints: after the tools, the system prompt and the last
//! message. So the same messages are always written identically.

mod answer;
mod history;
mod options;
mod part;
mod thinking;

use crate::body::{Body, list, member, quoted};
use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::exchange::ToolSpec;
use bub_types::text::escaped;

use history::{History, Role};
use options::Options;

pub(super) use answer::{log, take_in};

/// A cache breakpoint.
const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}}";

/// Maximum length of a tool's name.
const MAX_NAME: usize = 128;

/// Writes a request for the Messages API.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`] for a part that this API does not support, an unknown role, or a tool with an invalid
/// name.
pub(super) fn body(body: &Body<'_>, endpoint: &Endpoint) -> Result<String, Error> {
    let wrong = |what: String| Error::new(ErrorKind::InvalidInput, format!("model `{}`: {what}", endpoint.label));
    let mut history = History::read(body.messages).map_err(wrong)?;
    let mut tools = body.tools.iter().map(|spec| tool(spec)).collect::<Result<Vec<String>, String>>().map_err(wrong)?;
    let max_tokens = body.max_tokens.as_u64().unwrap_or(body.usual_max_tokens);
    let mut options = Options::read(&body.options, &endpoint.model, max_tokens, history.awaits_answer_to_results());
    match tools.last_mut() {
        Some(last) => mark(last),
        None => {
            // Calls in the history are rejected unless tools of their names are offered.
            tools.extend(history.called.iter().map(|name| absent(name)));
            options.choose_no_tool();
        }
    }
    history.system.last_mut().into_iter().for_each(mark);
    let last = history.turns.iter_mut().rev().find(|turn| turn.role == Role::User);
    last.and_then(|turn| turn.last_mut()).into_iter().for_each(mark);

    let mut text = format!("{{\"model\":{}", quoted(&endpoint.model));
    member(&mut text, "max_tokens", &max_tokens.to_string());
    if !tools.is_empty() {
        member(&mut text, "tools", &list(&tools));
        if let Some(choice) = &options.tool_choice {
            member(&mut text, "tool_choice", &choice.to_string());
        }
    }
    if !history.system.is_empty() {
        member(&mut text, "system", &list(&history.system));
    }
    let turns: Vec<String> = history.turns.iter().map(history::Turn::text).collect();
    member(&mut text, "messages", &list(&turns));
    member(&mut text, "stream", if body.stream { "true" } else { "false" });
    for (key, value) in &options.others {
        member(&mut text, key, &value.to_string());
    }
    text.push('}');
    Ok(text)
}

fn tool(tool: &ToolSpec) -> Result<String, String> {
    if !is_name(&tool.name) {
        let shown = escaped(&tool.name, MAX_NAME);
        let may_be = format!("letters, digits, `_` and `-`, at most {MAX_NAME}");
        return Err(format!("tool `{shown}` has a name that this provider does not accept: {may_be}"));
    }
    let mut text = format!("{{\"name\":{}", quoted(&tool.name));
    if !tool.description.trim().is_empty() {
        member(&mut text, "description", &quoted(&tool.description));
    }
    member(&mut text, "input_schema", &schema(&tool.parameters));
    text.push('}');
    Ok(text)
}

/// A tool that was called earlier but is not offered now.
fn absent(name: &str) -> String {
    format!("{{\"name\":{},\"input_schema\":{{\"type\":\"object\"}}}}", quoted(name))
}

/// Unlike chat completions, this API requires `"type": "object"` in the schema.
fn schema(parameters: &str) -> String {
    let is_typed = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(parameters)
        .is_ok_and(|schema| schema.contains_key("type"));
    match (is_typed, parameters.strip_prefix('{').map(str::trim_start)) {
        (false, Some(rest)) if rest.starts_with('}') => "{\"type\":\"object\"}".to_owned(),
        (false, Some(rest)) => format!("{{\"type\":\"object\",{rest}"),
        _ => parameters.to_owned(),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// `text` with `_` for characters that are invalid in a name or an id.
fn spelled(text: &str, instead: &str) -> String {
    match text.is_empty() {
        true => instead.to_owned(),
        false => text.chars().take(MAX_NAME).map(|c| if is_name_char(c) { c } else { '_' }).collect(),
    }
}

/// Inserts a cache breakpoint into a serialized object.
fn mark(object: &mut String) {
    if object.ends_with('}') {
        object.pop();
        object.push_str(MARK);
    }
}
