//! The export that runs in a task.

use crate::plugin::Plugin;
use bub_types::hook::Call;
use std::sync::Arc;

/// A running export of a plugin.
#[derive(Clone)]
pub struct Running {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// The call.
    pub call: Call,
}

impl Running {
    /// That export of that plugin.
    pub fn new(plugin: &Arc<Plugin>, call: impl Into<Call>) -> Self {
        Self { plugin: Arc::clone(plugin), call: call.into() }
    }

    /// Whether that is the same export of the same plugin.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plugin, &other.plugin) && self.call == other.call
    }
}

tokio::task_local! {
    pub(super) static RUNNING: Running;
}

/// The export that runs in this task, if any. Host functions run in the task of their guest.
pub fn running() -> Option<Running> {
    RUNNING.try_with(Running::clone).ok()
}
