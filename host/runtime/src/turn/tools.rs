//! The tools of a turn, by the names that models and people write.

use super::data::Turn;
use crate::plugin::{Plugin, Tool, is_called};
use std::sync::Arc;

impl Turn {
    /// Whether the turn may see and call that tool, by the name that its plugin gave it.
    pub fn has_tool(&self, name: &str) -> bool {
        self.allowed_tools.as_ref().is_none_or(|allowed| allowed.contains(name))
    }

    /// The tool of that name, as a model or a person writes it, and its plugin.
    pub fn tool(&self, name: &str) -> Option<(&Arc<Plugin>, &Tool)> {
        let mut tools =
            self.scope.plugins.iter().flat_map(|plugin| plugin.tools.iter().map(move |tool| (plugin, tool)));
        tools.find(|(_, tool)| is_called(&tool.name, name) && self.has_tool(&tool.name))
    }

    /// The name of a tool as its plugin gave it, for a name as a model writes it. An unknown name stays as it is.
    pub fn dotted(&self, name: &str) -> String {
        self.tool(name).map_or_else(|| name.to_owned(), |(_, tool)| tool.name.clone())
    }
}
