//! `help`: what can be said behind a comma.

use crate::bub::tools::schema::ToolSpec;
use crate::bub::tools::toolbox;
use crate::{Error, Turn, json};
use serde_json::Value;

/// A line for each tool of the session, with the arguments that it must have.
pub fn text(turn: &Turn) -> Result<String, Error> {
    let mut text =
        "A line that begins with `,` is a command: `,name`, then arguments as `key=value` or in their order.\n"
            .to_owned();
    for tool in toolbox::list_tools(turn)? {
        text.push_str(&format!("  {}\n", line(&tool)));
    }
    if turn.get("_commands").is_some_and(|commands| json::value(&commands) == "all") {
        text.push_str("Any other line behind the comma goes to the shell.");
    }
    Ok(text.trim_end().to_owned())
}

fn line(tool: &ToolSpec) -> String {
    let schema = json::value(&tool.parameters);
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let arguments: String = required.iter().filter_map(Value::as_str).map(|name| format!(" {name}=...")).collect();
    let about = tool.description.split_inclusive(". ").next().unwrap_or_default().trim();
    format!("{:<34} {about}", format!(",{}{arguments}", tool.name))
}
