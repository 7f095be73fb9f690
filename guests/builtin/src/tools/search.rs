//! `tool.search` and `tool.call`: tools that the request of a turn does not contain.

use super::rank::ranked;
use crate::toolset::{self, FOUND};
use crate::{APPEND, TAPE, TOOLS, json};
use bub_guest::tape::Draft;
use bub_guest::tool::ToolSpec;
use bub_guest::turn::ToolCall;
use bub_guest::{Error, Result, Schema, Turn, tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Tools that a search returns, unless it asks for fewer or more, and at most.
const DEFAULT: usize = 6;
const MOST: usize = 20;

/// A tool that fits less than this share of the best one is left out.
const SHARE: f64 = 0.25;

/// Further tools whose names alone are said.
const NAMED: usize = 10;

/// Maximum characters of a description in a result, and of a schema: longer ones are cut or left out.
const DESCRIPTION: usize = 600;
const SCHEMA: usize = 6000;

#[derive(Deserialize, Schema)]
pub struct Words {
    /// What is to be done, in a few words: `create an issue on GitHub`.
    words: String,
    /// Number of tools [default: 6].
    #[serde(default)]
    #[schema(with = u8, minimum = 1, maximum = 20)]
    max: Option<u8>,
}

#[derive(Deserialize, Schema)]
pub struct Call {
    /// The tool's name, as `tool_search` says it.
    name: String,
    /// Its arguments, by its schema.
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Find tools that are not in your list by what they do. Returns their names, descriptions and arguments. Call one of them
/// with `tool_call`.
#[tool(name = "tool.search", effect = read)]
pub fn search(turn: &Turn, Words { words, max }: Words) -> Result<String> {
    let words = words.trim();
    if words.is_empty() {
        return Err(Error::invalid("`words` is empty: say what the tool is to do"));
    }
    let tools: Vec<ToolSpec> = toolset::all(turn)?.into_iter().filter(|tool| !toolset::is_of_search(tool)).collect();
    let most = max.map_or(DEFAULT, |max| usize::from(max).clamp(1, MOST));
    let mut found = ranked(&tools, words);
    let least = found.first().map_or(0.0, |(best, _)| best * SHARE);
    found.retain(|(fits, _)| *fits >= least);
    let found: Vec<&ToolSpec> = found.into_iter().map(|(_, tool)| tool).take(most + NAMED).collect();
    if found.is_empty() {
        let count = tools.len();
        return Ok(format!(
            "None of the {count} tools has anything to do with `{words}`. Try other words for what it does."
        ));
    }
    let (shown, others) = found.split_at(most.min(found.len()));
    let names: Vec<&str> = shown.iter().map(|tool| tool.name.as_str()).collect();
    let event = Draft { meta: r#"{"context": false}"#.to_owned(), ..Draft::event(FOUND, &json!({ "tools": names })) };
    turn.tape(TAPE)?.writer(APPEND).append(&[event])?;
    let mut list: Vec<String> = shown.iter().map(|tool| described(tool)).collect();
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|tool| toolset::model_name(&tool.name)).collect();
        list.push(format!("Further ones, to be searched for by their names: {}", others.join(", ")));
    }
    Ok(format!(
        "The best {} of {} tools, best first. Call one as tool_call {{\"name\": \"{}\", \"arguments\": {{...}}}}.\n\n{}",
        shown.len(),
        tools.len(),
        toolset::model_name(names[0]),
        list.join("\n\n")
    ))
}

/// Call a tool that `tool_search` has found.
#[tool(name = "tool.call", effect = read)]
pub fn call(turn: &Turn, Call { name, arguments }: Call) -> Result<Value> {
    let tool = name.trim();
    if tool.is_empty() || toolset::model_name(tool) == toolset::model_name(toolset::CALL) {
        return Err(Error::invalid(format!("`{name}` is not the name of a tool that can be called")));
    }
    let meant = ToolCall { id: None, name: tool.to_owned(), arguments: Value::Object(arguments).to_string() };
    match TOOLS.call(turn, &[meant])?.pop() {
        Some(result) => result.map(|answer| json::value(&answer)),
        None => Err(Error::invalid(format!("`{name}` was not called"))),
    }
}

fn described(tool: &ToolSpec) -> String {
    let name = toolset::model_name(&tool.name);
    let about: String = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let about = match about.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{} ...", about.get(..end).unwrap_or_default()),
        None => about,
    };
    let schema = match tool.parameters.len() {
        0..=SCHEMA => tool.parameters.as_str(),
        _ => "too long to be shown here: from the next turn on the tool is in your list",
    };
    format!("{name}: {about}\narguments: {schema}")
}

#[cfg(test)]
mod tests {
    use super::super::rank::tests::tool;
    use super::*;
    use bub_guest::test::Host;

    fn tools() -> Vec<ToolSpec> {
        vec![
            tool("mcp.hub.createIssue", "Open a new issue in a repository.", r#"{"properties":{"title":{}}}"#),
            tool("mcp.hub.mail_hook", "Mails what happens.", "{}"),
            tool("mcp.mail.send", "Send an e-mail.", r#"{"properties":{"to":{"description":"the recipient"}}}"#),
        ]
    }

    #[test]
    fn what_is_found_is_recorded_out_of_context() {
        let host = tools().into_iter().fold(Host::new(), |host, spec| host.tool(spec, |_| Ok(json!("called"))));
        let answer = host.call::<search>(json!({ "words": "send mail", "max": 1 })).unwrap();
        let answer = answer.as_str().unwrap();
        assert!(answer.contains("mcp_mail_send: Send an e-mail.\narguments: {\"properties\""), "{answer}");
        assert!(answer.ends_with("by their names: mcp_hub_mail_hook"), "{answer}");
        let entries = host.entries();
        assert_eq!(entries[0].payload, r#"{"name":"tools.found","data":{"tools":["mcp.mail.send"]}}"#);
        assert_eq!(entries[0].meta, r#"{"context": false}"#);
        assert_eq!(host.call::<call>(json!({ "name": "mcp.mail.send", "arguments": {} })).unwrap(), "called");
        let refused = host.call::<call>(json!({ "name": "tool_call", "arguments": {} })).unwrap_err();
        assert!(refused.message.contains("is not the name"), "{}", refused.message);
    }

    #[test]
    fn long_descriptions_are_cut_and_long_schemas_left_out() {
        let long = tool("a", &"word ".repeat(400), &format!("{{\"x\": \"{}\"}}", "y".repeat(SCHEMA)));
        let text = described(&long);
        assert!(text.len() < 800 && text.contains(" ...\narguments: too long"), "{text}");
    }
}
