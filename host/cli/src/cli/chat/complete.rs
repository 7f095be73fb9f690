//! Completion of comma commands: their names, and the names of their arguments.

use bub_runtime::host::Host;
use bub_runtime::turn::UndoCommand;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use serde_json::Value;
use std::sync::Arc;

/// Commands of the chat itself, in addition to tools.
pub(super) const CHAT_COMMANDS: [(&str, &str); 3] =
    [("quit", "Leave the chat"), ("exit", "Leave the chat"), ("thinking", "Show or hide the model's reasoning")];

/// Completes the names of the current tools.
pub(super) struct Commands {
    host: Arc<Host>,
}

impl Commands {
    pub(super) fn new(host: &Arc<Host>) -> Self {
        Self { host: Arc::clone(host) }
    }

    /// Names and descriptions.
    fn names(&self) -> Vec<(String, String)> {
        let plugins = self.host.plugins();
        let tools = plugins.iter().flat_map(|plugin| &plugin.tools);
        let about = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let mut names: Vec<_> = tools.map(|tool| (tool.name.clone(), about(&tool.description))).collect();
        for (name, about) in CHAT_COMMANDS.into_iter().chain(UndoCommand::NAMES) {
            if names.iter().all(|(known, _)| known != name) {
                names.push((name.to_owned(), about.to_owned()));
            }
        }
        names.sort();
        names
    }

    /// The arguments of a command, each with its `=`.
    fn arguments(&self, name: &str) -> Vec<(String, String)> {
        let plugins = self.host.plugins();
        let Some(tool) = plugins.iter().flat_map(|plugin| &plugin.tools).find(|tool| tool.name == name) else {
            return Vec::new();
        };
        let schema: Value = serde_json::from_str(&tool.parameters).unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object);
        let about = |value: &Value| value.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        properties.into_iter().flatten().map(|(name, value)| (format!("{name}="), about(value))).collect()
    }
}

impl Completer for Commands {
    fn complete(&mut self, line: &str, at: usize) -> CompletionResult {
        let typed = line.get(..at).unwrap_or_default();
        let Some(command) = typed.strip_prefix(',') else { return CompletionResult::fresh(Vec::new()) };
        let start = typed.rfind([',', ' ']).map_or(0, |at| at + 1);
        let word = typed.get(start..).unwrap_or_default();
        let known = match command.split_once(' ') {
            None => self.names(),
            Some((name, _)) => self.arguments(name),
        };
        let fitting = known.into_iter().filter(|(name, _)| name.starts_with(word));
        let suggest = |(value, about): (String, String)| Suggestion {
            append_whitespace: !value.ends_with('='),
            value,
            description: Some(about),
            span: Span::new(start, at),
            ..Suggestion::default()
        };
        CompletionResult::fresh(fitting.map(suggest).collect::<Vec<_>>())
    }
}
