//! The tools offered to a model: all of them while they take a small share of its context, else a few, and a search for
//! the others.
//!
//! What is offered is decided at the beginning of a turn and stays the same to its end, so that a provider's cache of the
//! beginning of a request holds. What a search finds meanwhile is called through [`CALL`], and offered from the next turn
//! on.

use crate::settings::Settings;
use crate::{TAPE, TOOLS, json};
use bub_guest::tape::Query;
use bub_guest::tool::ToolSpec;
use bub_guest::turn::ToolCall;
use bub_guest::{Error, ErrorKind, Result, Turn, config, log, model};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The tools by which others are found and called.
pub const SEARCH: &str = "tool.search";
pub const CALL: &str = "tool.call";

/// The event that names tools that a search has found.
pub const FOUND: &str = "tools.found";

/// The key of the turn's state with the names of what is offered, which the host reads for selectors and reports too.
const OFFERED: &str = "offered_tools";

/// Tokens of a context whose size is not known.
const ASSUMED_WINDOW: u32 = 128_000;

/// A schema has more than two bytes to a token, so that no text is weighed whose length is below that.
const BYTES: u64 = 2;

/// Searches of the session that are looked at.
const MAX_SEARCHES: u32 = 64;

/// The tools of the program itself, which are always offered unless `tools_always` names others.
const ALWAYS: [&str; 10] =
    ["bash*", "fs.*", "memory.*", "model", "recall*", "skill*", "spill.read", "subagent", "tape.*", "web.*"];

/// The tools of a turn.
pub struct Toolset {
    pub offered: Vec<ToolSpec>,
    /// Those that a search finds.
    pub deferred: Vec<ToolSpec>,
}

/// The tools that a model can be offered, with those of the search. Without the grant there are none: an agent works
/// without tools too.
pub fn all(turn: &Turn) -> Result<Vec<ToolSpec>> {
    match TOOLS.list(turn) {
        Ok(tools) => Ok(tools.into_iter().filter(|tool| tool.for_model).collect()),
        Err(Error { kind: ErrorKind::Denied, message, .. }) => {
            log::debug(format!("no tools are offered: {message}"));
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// What the turn offers, as it was decided at its beginning; decided now where no turn has begun, as in a preview.
pub fn of_turn(turn: &Turn) -> Result<Toolset> {
    let Some(Value::Array(names)) = turn.get_json(OFFERED).map(|offered| json::value(&offered)) else {
        return begin(turn, &Settings::of(turn)?);
    };
    let place = |tool: &ToolSpec| names.iter().position(|name| name.as_str() == Some(&tool.name));
    let (mut offered, others): (Vec<_>, Vec<_>) = all(turn)?.into_iter().partition(|tool| place(tool).is_some());
    offered.sort_by_key(|tool| place(tool));
    Ok(Toolset { offered, deferred: others.into_iter().filter(|tool| !is_of_search(tool)).collect() })
}

/// Decides at the beginning of a turn what is offered until its end.
pub fn begin(turn: &Turn, settings: &Settings) -> Result<Toolset> {
    let tools = decide(turn, settings)?;
    turn.set(OFFERED, &tools.offered.iter().map(|tool| &tool.name).collect::<Vec<_>>())?;
    Ok(tools)
}

fn decide(turn: &Turn, settings: &Settings) -> Result<Toolset> {
    let tools = all(turn)?;
    let window = model::window(&settings.model).unwrap_or(ASSUMED_WINDOW);
    let budget = u64::from(window) * settings.tool_budget / 100;
    let can_search = tools.iter().filter(|tool| is_of_search(tool)).count() == 2;
    if !can_search || fits(tools.iter().filter(|tool| !is_of_search(tool)), budget) {
        return Ok(everything(tools));
    }
    let always = patterns()?;
    let is_kept = |tool: &ToolSpec| is_of_search(tool) || always.iter().any(|pattern| matches(pattern, &tool.name));
    let (mut offered, mut others): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_kept);
    let mut room = budget.saturating_sub(offered.iter().map(weight).sum());
    let mut loaded = Vec::new();
    for name in found(turn)? {
        let Some(at) = others.iter().position(|tool| tool.name == name) else { continue };
        let Some(left) = room.checked_sub(weight(&others[at])) else { break };
        room = left;
        loaded.push(others.remove(at));
    }
    // The latest is the last one, so that the request begins as in the turn before.
    offered.extend(loaded.into_iter().rev());
    Ok(Toolset { offered, deferred: others })
}

fn everything(tools: Vec<ToolSpec>) -> Toolset {
    Toolset { offered: tools.into_iter().filter(|tool| !is_of_search(tool)).collect(), deferred: Vec::new() }
}

pub fn is_of_search(tool: &ToolSpec) -> bool {
    tool.name == SEARCH || tool.name == CALL
}

/// Whether the tools take at most that many tokens. Not by the model's calibration, which changes from turn to turn.
fn fits<'a>(tools: impl Iterator<Item = &'a ToolSpec> + Clone, budget: u64) -> bool {
    let bytes = tools.clone().map(|tool| (tool.name.len() + tool.description.len() + tool.parameters.len()) as u64);
    bytes.sum::<u64>() <= budget.saturating_mul(BYTES) || tools.map(weight).sum::<u64>() <= budget
}

fn weight(tool: &ToolSpec) -> u64 {
    bub_estimate::chat::tool(&tool.name, &tool.description, &tool.parameters)
}

/// The patterns of tools that are never deferred.
fn patterns() -> Result<Vec<String>> {
    let Some(given) = config::get_json("tools-always").map(|text| json::value(&text)) else {
        return Ok(ALWAYS.map(str::to_owned).into());
    };
    let wrong = || Error::config(format!("`tools_always` must be a list of tools, not `{given}`"));
    let names = given.as_array().ok_or_else(wrong)?;
    names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

/// Whether the pattern, a name or a beginning with `*`, matches the name in either spelling.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern = model_name(pattern.trim());
    let name = model_name(name);
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

/// The names of tools that searches of the session have found, the latest first.
fn found(turn: &Turn) -> Result<Vec<String>> {
    let query = Query {
        kinds: vec!["event".to_owned()],
        name: Some(FOUND.to_owned()),
        newest_first: true,
        limit: Some(MAX_SEARCHES),
        ..Query::default()
    };
    let mut names: Vec<String> = Vec::new();
    for event in turn.tape(TAPE)?.query(&query)?.next(MAX_SEARCHES)? {
        let event = event.json();
        let found = event.get("data").and_then(|data| data.get("tools")?.as_array());
        for name in found.into_iter().flatten().filter_map(Value::as_str) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// The call that is meant: of the tool that a call of [`CALL`] names, so that the host applies that tool's rules.
pub fn meant(call: &ToolCall) -> ToolCall {
    let inner = || {
        if model_name(&call.name) != model_name(CALL) {
            return None;
        }
        let given: Value = serde_json::from_str(&call.arguments).ok()?;
        let name = given.get("name")?.as_str()?.trim();
        let arguments = match given.get("arguments") {
            None | Some(Value::Null) => json!({}),
            // Models write an object as a text at times.
            Some(Value::String(text)) => serde_json::from_str(text).ok()?,
            Some(arguments) => arguments.clone(),
        };
        let is_meant = !name.is_empty() && model_name(name) != model_name(CALL) && arguments.is_object();
        is_meant.then(|| ToolCall { id: call.id.clone(), name: name.to_owned(), arguments: arguments.to_string() })
    };
    inner().unwrap_or_else(|| call.clone())
}

/// How many deferred tools there are of each group: the part of their names before the last dot.
pub fn groups(deferred: &[ToolSpec]) -> BTreeMap<&str, usize> {
    let mut groups = BTreeMap::new();
    for tool in deferred {
        let group = tool.name.rsplit_once('.').map_or(tool.name.as_str(), |(group, _)| group);
        *groups.entry(group).or_default() += 1;
    }
    groups
}

/// The name of a tool for models, which accept no dots.
pub fn model_name(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: Some("call_0".to_owned()), name: name.to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn a_call_through_another_tool_is_a_call_of_that_tool() {
        for arguments in [
            r#"{"name": "hub_issue", "arguments": {"title": "x"}}"#,
            r#"{"name": " hub_issue ", "arguments": "{\"title\": \"x\"}"}"#,
        ] {
            let meant = meant(&call("tool_call", arguments));
            assert_eq!((meant.name.as_str(), meant.arguments.as_str()), ("hub_issue", r#"{"title":"x"}"#));
            assert_eq!(meant.id.as_deref(), Some("call_0"));
        }
        assert_eq!(meant(&call("tool.call", r#"{"name": "now"}"#)).arguments, "{}");
    }

    #[test]
    fn a_call_that_names_no_tool_stays_as_it_is() {
        for arguments in
            ["", "[]", "{}", r#"{"name": 7}"#, r#"{"name": "tool.call"}"#, r#"{"name": "a", "arguments": [1]}"#]
        {
            assert_eq!(meant(&call("tool_call", arguments)).arguments, arguments);
        }
        assert_eq!(meant(&call("bash", r#"{"name": "other"}"#)).name, "bash");
    }

    #[test]
    fn patterns_match_names_in_either_spelling() {
        for (pattern, name, expected) in [
            ("fs.*", "fs.read", true),
            ("fs_*", "fs.read", true),
            ("fs.read", "fs.read", true),
            ("fs.*", "fsck", false),
            ("*", "anything", true),
            ("bash*", "bash.kill", true),
            ("model", "model.list", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
