//! The state that the turns of one process share.

use super::approvals::Approvals;
use super::budget::Budget;
use super::event_bus::EventBus;
use super::post_turn_tasks::PostTurnTasks;
use super::protection::ProtectionCache;
use super::rule_book::RuleBook;
use super::sandboxes::Sandboxes;
use crate::channel::Channel;
use crate::plugin::quarantine::Quarantine;
use crate::plugin::recording::Recordings;
use crate::plugin::{
    Cache, CallLog, CodeLinker, Engines, GrantRegistry, Meter, OpenCircuit, PluginRegistry, PluginSet, plugin_lock,
};
use anyhow::Result;
use bub_blame::TrailSink;
use bub_config::Config;
use bub_egress::Network;
use bub_model::Client;
use bub_postgres::Database;
use bub_recall::Recall;
use bub_system::process::{Processes, Servers};
use bub_tape::{Journals, Store, SummaryCache};
use parking_lot::RwLock;
use std::path::PathBuf;
use std::sync::Arc;

/// The host: what turns share. Services that outlive a change of the configuration are behind an [`Arc`], so that each
/// part of the program can hold just those that it needs.
///
/// A turn ends with the host that it began with, so a changed configuration is [another host](Host::with_config).
pub struct Host {
    /// The user's configuration.
    pub config: Config,
    /// The client for models over HTTP.
    pub model: Client,
    /// Token usage and its limits.
    pub budget: Budget,
    /// The absolute path of the workspace, without links.
    pub workspace: PathBuf,
    /// The tape store that is used when no plugin is one.
    pub(super) store: Arc<dyn Store>,
    pub(super) journals: Arc<Journals>,
    pub(super) summaries: Arc<SummaryCache>,
    /// The database that workers share, if the tapes are in one.
    pub(super) database: Option<Database>,
    /// The WebAssembly engines, one for each way of allocating instances.
    pub engines: Arc<Engines>,
    /// Links plugins with what they may import.
    pub(crate) linker: Arc<dyn CodeLinker>,
    /// Which grants are in effect.
    pub grants: Arc<GrantRegistry>,
    /// Files that no plugin may open, wherever they are.
    pub protection: Arc<ProtectionCache>,
    /// The owner's remembered decisions about tool calls.
    pub approvals: Arc<Approvals>,
    /// The owner's rules for commands.
    pub rules: Arc<RuleBook>,
    /// Network connections of plugins.
    pub network: Network,
    /// Processes of plugins.
    pub processes: Arc<Processes>,
    /// What confines them.
    pub sandboxes: Arc<Sandboxes>,
    /// Configured servers that plugins speak with; their programs are among the processes.
    pub servers: Arc<Servers>,
    pub(super) channel: Arc<dyn Channel>,
    /// Tasks that run after turns.
    pub post_turn_tasks: Arc<PostTurnTasks>,
    /// The search index over memory and conversations.
    pub recall: Arc<Recall>,
    /// Plugins in quarantine.
    pub quarantine: Arc<Quarantine>,
    /// Statistics of calls into plugins.
    pub meter: Arc<Meter>,
    /// Calls of plugins that are recorded or played back.
    pub recordings: Arc<Recordings>,
    /// Calls of plugins, for `plugin dev`.
    pub call_log: Arc<CallLog>,
    /// Runtime events.
    pub events: Arc<EventBus>,
    /// Compiled plugins.
    pub cache: Arc<Cache>,
    /// Replaced as a whole, so that a turn ends with the set that it began with.
    pub(super) plugins: Arc<RwLock<Arc<PluginSet>>>,
    /// The registry that the set is built from. Locked while a new set is built.
    pub(super) registry: Arc<tokio::sync::Mutex<PluginRegistry>>,
    /// Whether the process ends after a turn.
    pub(super) is_short: bool,
    /// Who wants to know how model requests of turns are made.
    pub trails: Option<TrailSink>,
}

impl Host {
    /// The hooks of plugins that are in quarantine.
    pub fn quarantined(&self) -> Vec<OpenCircuit> {
        self.quarantine.list()
    }

    /// Lifts the quarantine of a plugin, by its name or by the digest of its bytes: that of its faults and that by an
    /// advisory. Returns the number of its hooks and versions that were in quarantine.
    ///
    /// # Errors
    /// Fails if the change cannot be stored, so that other processes would not see it.
    pub async fn lift_quarantine(&self, plugin: &str) -> Result<usize> {
        Ok(self.quarantine.lift(plugin).await? + plugin_lock::lift_quarantine(&self.config.home, plugin)?)
    }

    /// The plugins that serve at this moment.
    pub fn plugins(&self) -> Arc<PluginSet> {
        self.plugins.read().clone()
    }

    /// The channel that receives envelopes that no plugin delivers.
    pub fn channel(&self) -> &dyn Channel {
        &*self.channel
    }

    /// Waits for the tasks that run after turns, and until their leases are released.
    pub async fn rest(&self) {
        self.post_turn_tasks.wait().await;
        self.journals.released().await;
    }

    /// Waits until the turns that have ended are recorded.
    pub async fn flush_recordings(&self) {
        if self.recordings.writer.is_started() {
            let recordings = self.recordings.clone();
            let _ = tokio::task::spawn_blocking(move || recordings.writer.flush()).await;
        }
    }

    /// The database that workers share; none where the tapes are not in PostgreSQL.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// Waits as [`Self::rest`] does, terminates the processes that plugins have started, writes down what models used, and
    /// closes indexes: the process may end without dropping them.
    pub async fn close(&self) {
        self.rest().await;
        self.processes.end_all().await;
        self.sandboxes.close();
        bub_sandbox_proxy::remove_ended();
        self.budget.flush().await;
        self.flush_recordings().await;
        self.recall.close();
    }
}
