//! The system prompt: what an agent is told about itself, its workspace and its tools.

use crate::bub::tools::schema::ToolSpec;
use crate::{Error, Turn, toolset};

const AGENT: &str = include_str!("system.md");
const WORKSPACE_FILE: &str = "AGENTS.md";
const WORKSPACE_TAG: &str = "workspace_instructions";

/// The agent's own part, then the workspace's, then the tools; a part that says nothing is left out.
pub fn prompt(turn: &Turn) -> Result<String, Error> {
    let workspace = turn.workspace_text(WORKSPACE_FILE).unwrap_or_default();
    let parts = [AGENT.trim().to_owned(), quoted(workspace.trim()), listed(&toolset::offered(turn)?)];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"))
}

/// Between marks, and in such a way that the text cannot end the quotation itself.
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

/// A line for each tool, under the name by which the model calls it.
fn listed(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let line = |tool: &ToolSpec| {
        let description = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = toolset::model_name(&tool.name);
        if description.is_empty() { name } else { format!("{name} - {description}") }
    };
    let lines: Vec<String> = tools.iter().map(line).collect();
    format!("<available_tools>\n{}\n</available_tools>", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bub::tools::schema::Effect;

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
        assert_eq!(listed(&[tool]), block);
        assert_eq!(listed(&[]), "");
    }
}
