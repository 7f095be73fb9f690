//! Comma commands as the editor's slash commands.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, UnstructuredCommandInput,
};
use bub_runtime::host::Host;
use bub_runtime::turn::UndoCommand;
use bub_types::text::{clipped, one_line};
use serde_json::Value;

/// Commands that the editor is told of.
const MAX_COMMANDS: usize = 512;

/// Characters of a description.
const MAX_ABOUT: usize = 200;

/// All commands.
pub(crate) fn update(host: &Host) -> SessionUpdate {
    let plugins = host.plugins();
    let tools = plugins.iter().flat_map(|plugin| &plugin.tools);
    let mut commands: Vec<AvailableCommand> = tools
        .map(|tool| {
            let about = tool.description.lines().next().unwrap_or_default();
            let hint = hint(&tool.parameters);
            let input = hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
            AvailableCommand::new(tool.name.clone(), clipped(&one_line(about), MAX_ABOUT)).input(input)
        })
        .collect();
    commands.retain(|command| !UndoCommand::is_name(&command.name));
    commands.extend(UndoCommand::NAMES.map(|(name, about)| {
        let input = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("number of a turn"));
        AvailableCommand::new(name, about).input(input)
    }));
    commands.sort_by(|one, other| one.name.cmp(&other.name));
    commands.truncate(MAX_COMMANDS);
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
}

/// The arguments that a command takes.
fn hint(parameters: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(parameters).ok()?;
    let properties = schema.get("properties")?.as_object()?;
    let names: Vec<String> = properties.keys().map(|name| format!("{}=…", one_line(name))).collect();
    (!names.is_empty()).then(|| clipped(&names.join(" "), MAX_ABOUT))
}

/// The comma command that a prompt is, if it is one: `/NAME ...` with the name of a command, or a line that begins with a
/// comma. Everything else is for the model, such as `/usr/bin`.
pub(crate) fn typed(host: &Host, text: &str) -> Option<String> {
    if text.starts_with(',') {
        return Some(text.to_owned());
    }
    let rest = text.strip_prefix('/')?;
    let name = rest.split(char::is_whitespace).next()?;
    let plugins = host.plugins();
    let is_known =
        UndoCommand::is_name(name) || plugins.iter().flat_map(|plugin| &plugin.tools).any(|tool| tool.name == name);
    is_known.then(|| format!(",{rest}"))
}
