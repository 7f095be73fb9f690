//! The channels that plugins provide, by name.

use bub_runtime::hooks::GuestChannel;
use bub_runtime::host::Host;
use bub_runtime::plugin::PluginSet;
use bub_runtime::turn::CallScope;
use bub_types::hook::Hook;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Channels by name, and the tasks that poll them.
#[derive(Default)]
pub(crate) struct Channels {
    pub(crate) by_name: Mutex<BTreeMap<String, Arc<GuestChannel>>>,
    /// The sources that the last discovery read. Locked during a discovery.
    pub(crate) discovered_from: tokio::sync::Mutex<Option<ChannelSources>>,
    /// Aborted on drop.
    pub(crate) pollers: Mutex<JoinSet<()>>,
}

impl Channels {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<GuestChannel>> {
        self.by_name.lock().get(name).cloned()
    }

    /// Aborts all polls. The next process gets their messages again.
    pub(crate) fn stop_polling(&self) {
        self.pollers.lock().abort_all();
    }
}

/// The inputs that determine which channels exist.
pub(crate) struct ChannelSources {
    host: Arc<Host>,
    plugins: Arc<PluginSet>,
    granted: Vec<String>,
}

impl ChannelSources {
    pub(crate) fn current(calls: &CallScope) -> Self {
        let granted = calls.granted(Hook::Channel).map(|plugin| plugin.name.clone()).collect();
        Self { host: calls.host.clone(), plugins: calls.plugins.clone(), granted }
    }
}

impl PartialEq for ChannelSources {
    fn eq(&self, other: &Self) -> bool {
        let is_same_host = Arc::ptr_eq(&self.host, &other.host);
        is_same_host && Arc::ptr_eq(&self.plugins, &other.plugins) && self.granted == other.granted
    }
}
