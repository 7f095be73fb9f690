//! `help`: lists the comma commands.

use crate::{TOOLS, json};
use bub_guest::tool::ToolSpec;
use bub_guest::{Result, Turn, tool};
use serde_json::Value;

/// Columns of a line, and of the command in it.
const WIDTH: usize = 76;
const COMMAND: usize = 28;

/// Commands of the program itself, which are no tools.
const OF_THE_PROGRAM: [(&str, &str); 2] = [
    (",diff", "Show what the latest turn has changed in the workspace."),
    (",undo", "Put back what the latest turn has changed in the workspace."),
];

/// Show the commands.
#[tool(effect = read, for_people)]
pub fn help(turn: &Turn) -> Result<String> {
    let mut text = "A line that begins with `,` is a command: `,name`, then its arguments in their order\n\
                    or as `key=value`. Put a text of several words in quotes.\n"
        .to_owned();
    for tool in TOOLS.list(turn)? {
        text.push_str(&paragraph(&tool));
    }
    for (command, about) in OF_THE_PROGRAM {
        text.push_str(&laid_out(command, about));
    }
    if turn.get_json("_commands").is_some_and(|commands| json::value(&commands) == "all") {
        text.push_str("Any other line behind the comma goes to the shell.");
    }
    Ok(text.trim_end().to_owned())
}

/// The command, followed by the first sentence of its description, wrapped.
fn paragraph(tool: &ToolSpec) -> String {
    let schema = json::value(&tool.parameters);
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let arguments: String =
        required.iter().filter_map(Value::as_str).map(|name| format!(" {}", name.to_uppercase())).collect();
    let about = tool.description.split_inclusive(". ").next().unwrap_or_default().trim();
    laid_out(&format!(",{}{arguments}", tool.name), about)
}

fn laid_out(command: &str, about: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let room = WIDTH - COMMAND - 1;
    for word in about.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    // A long command has a line of its own.
    if command.chars().count() > COMMAND || lines.is_empty() {
        lines.insert(0, String::new());
    }
    let mut paragraph = String::new();
    for (at, line) in lines.iter().enumerate() {
        let left = if at == 0 { command } else { "" };
        paragraph.push_str(format!("  {left:<COMMAND$} {line}").trim_end());
        paragraph.push('\n');
    }
    paragraph
}

#[cfg(test)]
mod tests {
    use super::laid_out;

    #[test]
    fn a_description_is_wrapped_and_never_truncated() {
        assert_eq!(laid_out(",quit", "Stop."), "  ,quit                        Stop.\n");
        let about = "Give a task to a second agent and get its final answer, whatever it is about.";
        let text = laid_out(",subagent PROMPT", about);
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.len() <= 78), "{text}");
        assert_eq!(text.split_whitespace().skip(2).collect::<Vec<_>>().join(" "), about);
        let long = laid_out(",a.command.that.is.long FIRST SECOND", about);
        assert!(long.starts_with("  ,a.command.that.is.long FIRST SECOND\n   "), "{long}");
    }
}
