//! What one process holds for all its turns.

mod news;
pub(crate) mod told;
mod watch;

use crate::channel::Channel;
use crate::config::{Config, TapePlace};
use crate::grants::budget::Budget;
use crate::grants::consent::Consents;
use crate::grants::ledger::Ledger;
use crate::hooks;
use crate::model::Client;
use crate::net::Network;
use crate::plugin::quarantine::Quarantine;
use crate::plugin::{self, Cache, Engines, Held, Meter, Plugin, PluginSet, Shelf};
use crate::process::Processes;
use crate::tape::{FileStore, Journals, SqliteStore, Store, Tapes};
use crate::turn::{Afterwards, Calls};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

pub use news::{Heard, News, NewsRoom, Reader, Tally};
pub use watch::Watch;

/// The host: engines, plugins, tapes, models and channels.
pub struct Host {
    /// What the user configured.
    pub config: Config,
    /// The absolute path, without links, of the directory that turns are about.
    pub workspace: PathBuf,
    /// What keeps tapes when no plugin does.
    store: Arc<dyn Store>,
    journals: Arc<Journals>,
    /// Models over HTTP.
    pub model: Client,
    pub(crate) engines: Engines,
    /// Which grants are in effect.
    pub(crate) ledger: Ledger,
    /// What is spent at models.
    pub(crate) budget: Budget,
    /// What the owner has said about tool calls.
    pub(crate) consents: Consents,
    /// Connections of plugins.
    pub(crate) network: Network,
    /// Programs of plugins.
    pub(crate) processes: Processes,
    channel: Box<dyn Channel>,
    /// What is done behind answers.
    pub(crate) afterwards: Afterwards,
    /// Who is not asked for a while.
    pub(crate) quarantine: Quarantine,
    /// What calls into plugins come to.
    pub(crate) meter: Meter,
    /// What happens, for whoever looks on.
    pub news: NewsRoom,
    /// Compiled plugins.
    pub(crate) cache: Cache,
    /// Replaced as a whole, so that a turn ends with the set that it began with.
    plugins: RwLock<Arc<PluginSet>>,
    /// What the set is made of. Held while a new one is made: one at a time.
    shelf: tokio::sync::Mutex<Shelf>,
}

impl Host {
    /// Opens the home directory and loads all plugins. Outbound envelopes that no plugin delivers go to `channel`.
    ///
    /// # Errors
    ///
    /// The workspace is no directory, or the home directory cannot be made.
    pub async fn start(config: Config, workspace: &Path, channel: Box<dyn Channel>) -> Result<Arc<Self>> {
        let workspace = workspace_dir(workspace)?;
        let (store, journals) = tapes(&config)?;
        let engines = Engines::new().map_err(anyhow::Error::from).context("the WebAssembly engine does not start")?;
        let model = Client::new(config.model.clone())?;
        let plugins = RwLock::new(Arc::new(PluginSet::default()));
        let ledger = Ledger::new(&config);
        let cache = Cache::open(&config.cache_dir);
        let quarantine = Quarantine::new(&config.home);
        let host = Arc::new(Self {
            ledger,
            budget: Budget::new(&config),
            consents: Consents::default(),
            network: Network::default(),
            processes: Processes::new(),
            config,
            workspace,
            store,
            journals,
            model,
            engines,
            channel,
            afterwards: Afterwards::default(),
            cache,
            meter: Meter::default(),
            news: NewsRoom::default(),
            quarantine,
            plugins,
            shelf: tokio::sync::Mutex::default(),
        });
        host.take_plugins(false).await;
        if let Some((name, reason)) = &host.plugins().broken {
            anyhow::bail!("the embedded plugin `{name}` did not load: {reason}");
        }
        Ok(host)
    }

    /// Looks at the directories of plugins again, and lets what is there now serve the turns that begin from here on. What
    /// changes is told to the log. `false`: somebody is still writing to a file, which stays as it was for now.
    pub async fn refresh(self: &Arc<Self>) -> bool {
        self.take_plugins(true).await
    }

    /// The hooks of plugins that are not asked for a while, because they kept breaking.
    pub fn quarantined(&self) -> Vec<Held> {
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
    pub(crate) async fn probe(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<Arc<Plugin>> {
        plugin::probe(self, name, bytes).await
    }

    async fn take_plugins(self: &Arc<Self>, waits: bool) -> bool {
        let mut shelf = self.shelf.lock().await;
        let set = Arc::new(PluginSet::load(self, &mut shelf, waits).await);
        let before = {
            let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *plugins, set.clone())
        };
        set.tell_failures(&before);
        // At the start all of them are new, and whoever starts says what is to be said of that.
        if waits {
            set.tell_changes(self, &before);
        }
        !shelf.is_unfinished
    }

    /// The plugins of this moment.
    pub fn plugins(&self) -> Arc<PluginSet> {
        self.plugins.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All tapes, where they are kept at this moment.
    pub fn tapes(self: &Arc<Self>) -> Tapes {
        self.tapes_of(&Calls::new(self))
    }

    /// All tapes, as these plugins keep them: a turn ends on the tapes that it began on.
    pub(crate) fn tapes_of(&self, calls: &Arc<Calls>) -> Tapes {
        Tapes::new(hooks::tape_store(calls, self.store.clone()), self.journals.clone())
    }

    /// Waits until what is done behind the answers that were given is done.
    pub async fn rest(&self) {
        self.afterwards.wait().await;
    }

    /// Waits as [`Self::rest`] does, and ends what plugins have started.
    pub async fn close(&self) {
        self.rest().await;
        self.processes.end_all().await;
    }

    /// The channel that takes what no plugin delivers.
    pub fn channel(&self) -> &dyn Channel {
        &*self.channel
    }
}

/// The configured store, and the journals of the turns that write to it. Journals are files of this machine, wherever the
/// tapes are.
fn tapes(config: &Config) -> Result<(Arc<dyn Store>, Arc<Journals>)> {
    let dir = config.tapes_dir();
    let settings = config.tapes.journal;
    let store: Arc<dyn Store> = match &config.tapes.place {
        TapePlace::Files => Arc::new(FileStore::indexed(&dir, settings.durability, config.index_dir())?),
        TapePlace::Sqlite(path) => Arc::new(SqliteStore::open(path, settings.durability, config.tapes.shared_fs)?),
    };
    Ok((store, Arc::new(Journals::new(dir, settings))))
}

fn workspace_dir(path: &Path) -> Result<PathBuf> {
    let found = path.canonicalize().with_context(|| format!("there is no workspace `{}`", path.display()))?;
    anyhow::ensure!(found.is_dir(), "the workspace `{}` is no directory", path.display());
    Ok(found)
}
