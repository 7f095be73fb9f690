//! The tools of a turn, by the names that models and people write.

use super::data::Turn;
use crate::plugin::{Plugin, PluginSet, Tool, is_called};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tools that a turn may see and call.
pub struct TurnTools {
    plugins: Arc<PluginSet>,
    /// Their names; none: all of the plugins'.
    allowed: Option<BTreeSet<String>>,
}

impl TurnTools {
    /// The tool of that name, as a model or a person writes it, and its plugin.
    pub fn find(&self, name: &str) -> Option<(&Arc<Plugin>, &Tool)> {
        find(&self.plugins, self.allowed.as_ref(), name)
    }
}

impl Turn {
    /// Its tools, for one who asks for them when it is over.
    pub fn tools(&self) -> TurnTools {
        TurnTools { plugins: self.scope.plugins.clone(), allowed: self.allowed_tools.clone() }
    }

    /// Whether the turn may see and call that tool, by the name that its plugin gave it.
    pub fn has_tool(&self, name: &str) -> bool {
        is_allowed(self.allowed_tools.as_ref(), name)
    }

    /// The tool of that name, as a model or a person writes it, and its plugin.
    pub fn tool(&self, name: &str) -> Option<(&Arc<Plugin>, &Tool)> {
        find(&self.scope.plugins, self.allowed_tools.as_ref(), name)
    }

    /// The name of a tool as its plugin gave it, for a name as a model writes it. An unknown name stays as it is.
    pub fn dotted(&self, name: &str) -> String {
        self.tool(name).map_or_else(|| name.to_owned(), |(_, tool)| tool.name.clone())
    }
}

fn is_allowed(allowed: Option<&BTreeSet<String>>, name: &str) -> bool {
    allowed.is_none_or(|allowed| allowed.contains(name))
}

fn find<'a>(
    plugins: &'a PluginSet,
    allowed: Option<&BTreeSet<String>>,
    name: &str,
) -> Option<(&'a Arc<Plugin>, &'a Tool)> {
    let mut tools = plugins.iter().flat_map(|plugin| plugin.tools.iter().map(move |tool| (plugin, tool)));
    tools.find(|(_, tool)| is_called(&tool.name, name) && is_allowed(allowed, &tool.name))
}
