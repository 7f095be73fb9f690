//! The export that runs in a task.

use crate::plugin::Plugin;
use std::sync::Arc;

/// The name of the calls that are made while a plugin is loaded.
pub const LOAD: &str = "load";

/// A running export of a plugin.
#[derive(Clone)]
pub struct Running {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// The export's name.
    pub hook: &'static str,
}

impl Running {
    /// That export of that plugin.
    pub fn new(plugin: &Arc<Plugin>, hook: &'static str) -> Self {
        Self { plugin: Arc::clone(plugin), hook }
    }

    /// Whether that is the same export of the same plugin.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plugin, &other.plugin) && self.hook == other.hook
    }
}

tokio::task_local! {
    pub(super) static RUNNING: Running;
}

/// The export that runs in this task, if any. Host functions run in the task of their guest.
pub fn running() -> Option<Running> {
    RUNNING.try_with(Running::clone).ok()
}
