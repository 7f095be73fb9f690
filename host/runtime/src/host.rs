//! What one process holds for all its turns.

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

/// The host: what is made of the configuration, on the [ground](SharedState) that stays while the configuration changes.
///
/// A turn ends with the host that it began with, so a changed configuration is [another host](Host::renewed).
pub struct Host {
    /// What the user configured.
    pub config: Config,
    /// Models over HTTP.
    pub model: Client,
    /// What is spent at models.
    pub budget: Budget,
    shared: Arc<SharedState>,
}

/// Whoever holds a host reaches both alike.
impl Deref for Host {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        &self.shared
    }
}

impl Host {
    /// Opens the home directory, which need not exist, and loads all plugins. Outbound envelopes that no plugin delivers
    /// go to `channel`.
    ///
    /// # Errors
    ///
    /// The workspace is no directory, or the tapes cannot be opened.
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

    /// A host with another configuration on the same ground, for the turns that begin from here on. What was spent today
    /// stays spent, and plugins of which nothing else is said now than before are not loaded again. What cannot change
    /// while the program runs has to be as it was: [`Config::merge_reload`] sees to that.
    ///
    /// # Errors
    ///
    /// The program would not start with this configuration. Then nothing has changed.
    pub async fn with_config(self: &Arc<Self>, config: Config) -> Result<Arc<Self>> {
        config.warn_of_exposed();
        let model = Client::new(config.model.clone())?;
        let budget = self.budget.with_config(&config);
        let host = Arc::new(Self { model, budget, config, shared: self.shared.clone() });
        self.registry.lock().await.renew_embedded(&host).await?;
        host.reload_plugins(true).await;
        Ok(host)
    }

    /// Looks at the directories of plugins again, and lets what is there now serve the turns that begin from here on. What
    /// changes is told to the log. `false`: somebody is still writing to a file, which stays as it was for now.
    pub async fn refresh(self: &Arc<Self>) -> bool {
        self.reload_plugins(true).await
    }

    /// The hooks of plugins that are not asked for a while, because they kept breaking.
    pub fn quarantined(&self) -> Vec<OpenCircuit> {
        self.quarantine.list()
    }

    /// Lets a plugin be asked again, by its name or by the digest of its bytes. How many of its hooks had broken.
    ///
    /// # Errors
    ///
    /// It cannot be written down, so that other processes would not know.
    pub fn release(&self, plugin: &str) -> Result<usize> {
        self.quarantine.release(plugin)
    }

    /// What these bytes would be as the user's own plugin of that name: compiled and asked what it is, and not put anywhere.
    ///
    /// # Errors
    ///
    /// Why they would not load.
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
        // At the start all of them are new, and whoever starts says what is to be said of that.
        if waits {
            set.log_changes(self, &before);
        }
        !registry.is_unfinished
    }

    /// The plugins of this moment.
    pub fn plugins(&self) -> Arc<PluginSet> {
        self.plugins.read().clone()
    }

    /// All tapes, where they are kept at this moment.
    pub fn tapes(self: &Arc<Self>) -> Tapes {
        self.tapes_of(&CallScope::new(self))
    }

    /// All tapes, as these plugins keep them: a turn ends on the tapes that it began on.
    pub fn tapes_of(&self, scope: &Arc<CallScope>) -> Tapes {
        Tapes::new(hooks::tape_store(scope, self.store.clone()), self.journals.clone())
    }

    /// Waits until what is done behind the answers that were given is done.
    pub async fn rest(&self) {
        self.post_turn_tasks.wait().await;
    }

    /// Waits as [`Self::rest`] does, and ends what plugins have started.
    pub async fn close(&self) {
        self.rest().await;
        self.processes.end_all().await;
    }

    /// The channel that takes what no plugin delivers.
    pub fn channel(&self) -> &dyn Channel {
        &*self.shared.channel
    }
}
