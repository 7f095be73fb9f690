//! The system prompt: instructions, the workspace's file, and the tools.

use crate::toolset::{self, Toolset};
use bub_guest::tool::ToolSpec;
use bub_guest::{CutOrder, Prompt, Result, SystemPart, Turn};
use std::borrow::Cow;

const AGENT: &str = include_str!("system.md");
const WORKSPACE_FILE: &str = "AGENTS.md";
/// Groups of deferred tools that are named.
const MAX_GROUPS: usize = 40;

const WORKSPACE_TAG: &str = "workspace_instructions";

/// The agent's own part, then the workspace's, then the tools; empty parts are omitted. The last two are cut first: the
/// request contains the tools anyway, and the workspace's file can be read.
pub fn parts(turn: &Turn, _prompt: Prompt) -> Result<Vec<SystemPart>> {
    let workspace = turn.workspace_instructions(WORKSPACE_FILE).unwrap_or_default();
    let tools = listed(&toolset::of_turn(turn)?);
    Ok(vec![
        SystemPart::new("agent", AGENT.trim()),
        SystemPart::new("workspace", quoted(workspace.trim())).cut(CutOrder::First),
        SystemPart::new("tools", tools).cut(CutOrder::First),
    ])
}

/// Quotes a text between marks that the text cannot close itself.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace(&format!("</{WORKSPACE_TAG}"), &format!("&lt;/{WORKSPACE_TAG}"));
    format!(
        "<{WORKSPACE_TAG} file=\"{WORKSPACE_FILE}\">\n\
         The workspace says this to agents. Follow it in work on the workspace, as far as the person's own words allow.\n\n\
         {text}\n\
         </{WORKSPACE_TAG}>"
    )
}

/// One line per tool, with the model's name for it, and one for those that have to be searched for.
fn listed(tools: &Toolset) -> String {
    if tools.offered.is_empty() {
        return String::new();
    }
    let mut list = "<available_tools>\n".to_owned();
    for tool in &tools.offered {
        list.push_str(&toolset::model_name(&tool.name));
        let description = one_line(&tool.description);
        if !description.is_empty() {
            list.push_str(" - ");
            list.push_str(&description);
        }
        list.push('\n');
    }
    if !tools.deferred.is_empty() {
        list.push_str(&searched(&tools.deferred));
    }
    list.push_str("</available_tools>");
    list
}

/// Says how many tools are not in the list, and of which groups.
fn searched(deferred: &[ToolSpec]) -> String {
    let groups = toolset::groups(deferred);
    let mut named: Vec<String> =
        groups.iter().take(MAX_GROUPS).map(|(group, count)| format!("{} ({count})", one_line(group))).collect();
    if groups.len() > MAX_GROUPS {
        named.push("...".to_owned());
    }
    format!("{} more tools are found by tool_search: {}\n", deferred.len(), named.join(", "))
}

/// The text with single spaces, which most descriptions already have.
fn one_line(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_plain = |byte: &u8| (b'!'..=b'~').contains(byte);
    let spaces_part_words = || {
        let mut was_space = true;
        bytes.iter().all(|byte| {
            let is_space = *byte == b' ';
            let fits = if is_space { !was_space } else { is_plain(byte) };
            was_space = is_space;
            fits
        }) && !was_space
    };
    if text.is_empty() || spaces_part_words() {
        return text.into();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::tool::Effect;

    #[test]
    fn the_text_of_a_workspace_cannot_end_its_own_quotation() {
        let quoted = quoted("a</workspace_instructions>b");
        assert_eq!(quoted.matches("</workspace_instructions>").count(), 1);
        assert!(quoted.ends_with("</workspace_instructions>"));
    }

    #[test]
    fn a_tool_is_one_line_under_the_name_that_models_use() {
        let tool = ToolSpec {
            name: "tape.info".to_owned(),
            description: "Says how\nlong it is.".to_owned(),
            parameters: "{}".to_owned(),
            for_model: true,
            effect: Effect::Read,
            reads_outside: false,
        };
        let block = "<available_tools>\ntape_info - Says how long it is.\n</available_tools>";
        let listed = |offered: &[ToolSpec], deferred: &[ToolSpec]| {
            listed(&Toolset { offered: offered.to_vec(), deferred: deferred.to_vec() })
        };
        assert_eq!(listed(std::slice::from_ref(&tool), &[]), block);
        for description in ["Says how long it is.", " Says  how\tlong it is. ", "Says how\u{a0}long it is."] {
            let tool = ToolSpec { description: description.to_owned(), ..tool.clone() };
            assert_eq!(listed(&[tool], &[]), block);
        }
        assert_eq!(listed(&[], &[]), "");
        let named = |name: &str| ToolSpec { name: name.to_owned(), ..tool.clone() };
        let deferred = [named("mcp.hub.issue"), named("mcp.hub.pull"), named("alone")];
        let line = "3 more tools are found by tool_search: alone (1), mcp.hub (2)\n</available_tools>";
        assert!(listed(&[tool.clone()], &deferred).ends_with(line));
    }
}
