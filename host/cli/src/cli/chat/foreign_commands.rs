//! Commands of other programs, and their counterparts here. A line that is typed twice goes to the agent.

use super::complete::CHAT_COMMANDS;
use bub_runtime::host::Host;
use bub_runtime::turn::UndoCommand;

/// Words that quit other programs.
const LEAVING: [&str; 5] = ["quit", "exit", ":q", "/q", "bye"];

/// The hint for such a line; `None` for messages and known commands.
pub(super) fn hint(host: &Host, line: &str) -> Option<String> {
    let line = line.trim();
    let again = "say it again to send it to the agent";
    if LEAVING.contains(&line.to_lowercase().as_str()) {
        return Some(format!("to leave: `,quit` or Ctrl-D; {again}"));
    }
    if let Some(rest) = line.strip_prefix('!').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())) {
        let command: String = rest.chars().take(40).collect();
        return Some(format!("a line for the shell begins with a comma: `,{command}`; {again}"));
    }
    let name = line.strip_prefix('/')?.split(' ').next()?;
    let plugins = host.plugins();
    let tools = plugins.iter().flat_map(|plugin| &plugin.tools).map(|tool| tool.name.as_str());
    let own = CHAT_COMMANDS.iter().chain(&UndoCommand::NAMES).map(|(name, _)| *name);
    tools.chain(own).find(|known| *known == name)?;
    Some(format!("a command begins with a comma: `,{name}`; {again}"))
}
