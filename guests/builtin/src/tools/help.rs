//! `help`: what can be said behind a comma.

use crate::bub::tools::schema::ToolSpec;
use crate::bub::tools::toolbox;
use crate::{Error, Turn, json};
use serde_json::Value;

/// Columns of a line, and those of the command in it.
const WIDTH: usize = 76;
const COMMAND: usize = 28;

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
    let command = format!(",{}{arguments}", tool.name);
    // Narrow enough for a terminal of 80 columns, with the indent.
    let room = WIDTH.saturating_sub(command.chars().count().max(COMMAND) + 1);
    let about = match about.char_indices().nth(room) {
        Some(_) => format!("{}...", about.chars().take(room.saturating_sub(3)).collect::<String>()),
        None => about.to_owned(),
    };
    format!("{command:<COMMAND$} {about}").trim_end().to_owned()
}
