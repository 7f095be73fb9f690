//! State of one process that all its turns share.

mod event_bus;
mod gc;
pub mod introspection;
mod shared_state;
mod watch;

use crate::channel::Channel;
use crate::hooks;
use crate::imports::budget::Budget;
use crate::plugin;
use crate::plugin::{OpenCircuit, Plugin, PluginSet};
use crate::turn::CallScope;
use anyhow::Result;
use bub_config::Config;
use bub_model::Client;
use bub_tape::Tapes;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

pub use event_bus::{Counters, EventBus, EventRecord, RuntimeEvent, Subscriber};
pub use gc::{Compacted, compact_memories, cutoff, leftovers};
pub use shared_state::SharedState;
pub use watch::Watch;

/// The host: everything derived from the configuration, on top of the [`SharedState`] that outlives configuration
/// changes.
///
/// A turn ends with the host that it began with, so a changed configuration is [another host](Host::with_config).
pub struct Host {
    /// The user's configuration.
    pub config: Config,
    /// The client for models over HTTP.
    pub model: Client,
    /// Token usage and its limits.
    pub budget: Budget,
    shared: Arc<SharedState>,
}

/// Gives direct access to the shared state.
impl Deref for Host {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        &self.shared
    }
}

impl Host {
    /// Opens the home directory, which need not exist, and loads all plugins. `channel` receives outbound envelopes
    /// that no plugin delivers.
    ///
    /// # Errors
    /// Fails if the workspace is not a directory or the tapes cannot be opened.
    pub async fn start(config: Config, workspace: &Path, channel: Box<dyn Channel>) -> Result<Arc<Self>> {
        let shared = Arc::new(SharedState::new(&config, workspace, channel)?);
        config.warn_of_exposed();
        let model = Client::new(config.model.clone())?;
        let host = Arc::new(Self { model, budget: Budget::new(&config), config, shared });
        host.reload_plugins(false).await;
        if let Some((name, reason)) = &host.plugins().broken {
            anyhow::bail!("the embedded plugin `{name}` did not load: {reason}");
        }
        Ok(host)
    }

    /// Creates a host with another configuration on the same shared state, for the turns that start from now on. Token
    /// usage is kept, and plugins whose configuration did not change are not reloaded. Settings that cannot change
    /// while the program runs must be unchanged: [`Config::merge_reload`] ensures that.
    ///
    /// # Errors
    /// Fails if the program would not start with this configuration. Nothing changes then.
    pub async fn with_config(self: &Arc<Self>, config: Config) -> Result<Arc<Self>> {
        config.warn_of_exposed();
        let model = Client::new(config.model.clone())?;
        let budget = self.budget.with_config(&config);
        let host = Arc::new(Self { model, budget, config, shared: self.shared.clone() });
        self.registry.lock().await.renew_embedded(&host).await?;
        host.reload_plugins(true).await;
        Ok(host)
    }

    /// Rescans the plugin directories for the turns that start from now on, and logs what changed. Returns `false` if a
    /// file is still being written; its previous version stays active.
    pub async fn refresh(self: &Arc<Self>) -> bool {
        self.reload_plugins(true).await
    }

    /// The hooks of plugins that are in quarantine.
    pub fn quarantined(&self) -> Vec<OpenCircuit> {
        self.quarantine.list()
    }

    /// Lifts the quarantine of a plugin, by its name or by the digest of its bytes. Returns the number of its hooks
    /// that were counted.
    ///
    /// # Errors
    /// Fails if the change cannot be stored, so that other processes would not see it.
    pub fn release(&self, plugin: &str) -> Result<usize> {
        self.quarantine.release(plugin)
    }

    /// Compiles these bytes and queries them as the user's plugin of that name, without installing it.
    ///
    /// # Errors
    /// Fails if the plugin would not load.
    pub async fn probe(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<Arc<Plugin>> {
        plugin::probe(self, name, bytes).await
    }

    async fn reload_plugins(self: &Arc<Self>, waits: bool) -> bool {
        let mut registry = self.registry.lock().await;
        let set = Arc::new(PluginSet::load(self, &mut registry, waits).await);
        let before = {
            let mut plugins = self.plugins.write();
            std::mem::replace(&mut *plugins, set.clone())
        };
        set.log_failures(&before);
        // At startup all plugins are new; the caller announces them.
        if waits {
            set.log_changes(self, &before);
        }
        !registry.is_unfinished
    }

    /// The plugins that serve at this moment.
    pub fn plugins(&self) -> Arc<PluginSet> {
        self.plugins.read().clone()
    }

    /// All tapes, in the store that is active at this moment.
    pub fn tapes(self: &Arc<Self>) -> Tapes {
        self.tapes_of(&CallScope::new(self))
    }

    /// All tapes, in the store of that scope's plugins: a turn ends on the tapes that it started with.
    pub fn tapes_of(&self, scope: &Arc<CallScope>) -> Tapes {
        Tapes::new(hooks::tape_store(scope, self.store.clone()), self.journals.clone())
    }

    /// Waits for the tasks that run after turns.
    pub async fn rest(&self) {
        self.post_turn_tasks.wait().await;
    }

    /// Waits as [`Self::rest`] does, and terminates the processes that plugins have started.
    pub async fn close(&self) {
        self.rest().await;
        self.processes.end_all().await;
    }

    /// The channel that receives envelopes that no plugin delivers.
    pub fn channel(&self) -> &dyn Channel {
        &*self.shared.channel
    }
}
