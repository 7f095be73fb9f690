//! State that one process holds for its lifetime, across configuration changes.

use crate::channel::Channel;
use crate::imports::approvals::Approvals;
use crate::imports::grant_registry::GrantRegistry;
use crate::imports::guard::ProtectionCache;
use crate::plugin::quarantine::Quarantine;
use crate::plugin::{Cache, Engines, Meter, PluginRegistry, PluginSet};
use crate::turn::PostTurnTasks;
use anyhow::{Context, Result};
use bub_config::{Config, TapeStorage};
use bub_egress::Network;
use bub_recall::Recall;
use bub_system::process::Processes;
use bub_tape::{FileStore, Journals, SqliteStore, Store};
use parking_lot::RwLock;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::EventBus;

/// What all hosts of one process share: plugins, tapes, and state that outlives a turn.
pub struct SharedState {
    /// The absolute path of the workspace, without links.
    pub workspace: PathBuf,
    /// The tape store that is used when no plugin is one.
    pub(super) store: Arc<dyn Store>,
    pub(super) journals: Arc<Journals>,
    /// The WebAssembly engines, one for each way of allocating instances.
    pub engines: Engines,
    /// Which grants are in effect.
    pub grants: GrantRegistry,
    /// Files that no plugin may open, wherever they are.
    pub protection: ProtectionCache,
    /// The owner's remembered decisions about tool calls.
    pub approvals: Approvals,
    /// Network connections of plugins.
    pub network: Network,
    /// Processes of plugins.
    pub processes: Processes,
    pub(super) channel: Box<dyn Channel>,
    /// Tasks that run after turns.
    pub post_turn_tasks: PostTurnTasks,
    /// The search index over memory and conversations.
    pub recall: Arc<Recall>,
    /// Plugins in quarantine.
    pub quarantine: Quarantine,
    /// Statistics of calls into plugins.
    pub meter: Meter,
    /// Runtime events.
    pub events: EventBus,
    /// Compiled plugins.
    pub cache: Cache,
    /// Replaced as a whole, so that a turn ends with the set that it began with.
    pub(super) plugins: RwLock<Arc<PluginSet>>,
    /// What the set is built from. Locked while a new set is built.
    pub(super) registry: tokio::sync::Mutex<PluginRegistry>,
}

impl SharedState {
    /// # Errors
    ///
    /// The workspace is no directory, or the tapes cannot be opened.
    pub(super) fn new(config: &Config, workspace: &Path, channel: Box<dyn Channel>) -> Result<Self> {
        let workspace = workspace_dir(workspace)?;
        let (store, journals) = tapes(config)?;
        let engines = Engines::new().map_err(anyhow::Error::from).context("the WebAssembly engine does not start")?;
        Ok(Self {
            workspace,
            store,
            journals,
            engines,
            grants: GrantRegistry::new(config),
            protection: ProtectionCache::default(),
            approvals: Approvals::default(),
            network: Network::default(),
            processes: Processes::new(),
            channel,
            post_turn_tasks: PostTurnTasks::default(),
            recall: Arc::new(Recall::new(config.recall_dir())),
            quarantine: match config.is_trial {
                true => Quarantine::of_trial(&config.home),
                false => Quarantine::new(&config.home),
            },
            meter: Meter::default(),
            events: EventBus::default(),
            cache: Cache::open(&config.cache_dir),
            plugins: RwLock::default(),
            registry: tokio::sync::Mutex::default(),
        })
    }
}

/// The configured store, and the journals of the turns that write to it. Journals are files of this machine, wherever the
/// tapes are.
fn tapes(config: &Config) -> Result<(Arc<dyn Store>, Arc<Journals>)> {
    let dir = config.tapes_dir();
    let settings = config.tapes.journal;
    let store: Arc<dyn Store> = match &config.tapes.storage {
        TapeStorage::Files => Arc::new(FileStore::indexed(&dir, settings.durability, config.index_dir())?),
        TapeStorage::Sqlite(path) => Arc::new(SqliteStore::open(path, settings.durability, config.tapes.shared_fs)?),
    };
    Ok((store, Arc::new(Journals::new(dir, settings))))
}

fn workspace_dir(path: &Path) -> Result<PathBuf> {
    let found = path.canonicalize().with_context(|| format!("there is no workspace `{}`", path.display()))?;
    anyhow::ensure!(found.is_dir(), "the workspace `{}` is no directory", path.display());
    Ok(found)
}
