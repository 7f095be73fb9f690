//! Starts a host, and replaces its configuration and its plugins.

use super::approvals::Approvals;
use super::budget::Budget;
use super::chain::chained;
use super::data::Host;
use super::event_bus::{EventBus, RuntimeEvent};
use super::post_turn_tasks::PostTurnTasks;
use super::protection::ProtectionCache;
use super::rule_book::RuleBook;
use crate::channel::Channel;
use crate::guest::{ImportLinker, LoadQuery};
use crate::plugin;
use crate::plugin::quarantine::Quarantine;
use crate::plugin::{
    Cache, CallLog, Engines, GrantRegistry, LoadContext, Meter, OpenAhead, OpenError, Opening, Plugin, PluginSet,
};
use crate::turn;
use anyhow::{Context, Result};
use bub_blame::TrailSink;
use bub_config::{Config, TapeStorage};
use bub_egress::Network;
use bub_model::Client;
use bub_postgres::{Database, Leases, PostgresJournals, PostgresStore, TurnSettings};
use bub_recall::Recall;
use bub_system::process::{Processes, Servers};
use bub_tape::{FileStore, Journals, SqliteStore, Store, tape_name};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use tokio::runtime::Handle;

/// How a host starts.
#[derive(Clone, Default)]
pub struct StartOptions<'a> {
    /// The session in which the first turn will probably be: its tape is read while plugins are loaded.
    pub session: Option<&'a str>,
    /// Whether all plugins are compiled and checked at once. Otherwise each is at the first call into it.
    pub opens_plugins: bool,
    /// Whether the process ends after a turn: what was never compiled is then compiled quickly, to code that runs more
    /// slowly.
    pub is_short: bool,
    /// Gets how each model request of a turn was made.
    pub trails: Option<TrailSink>,
}

impl Host {
    /// Opens the home directory, which need not exist, and finds all plugins, which are opened at the first call into them. `channel` receives outbound envelopes
    /// that no plugin delivers.
    ///
    /// # Errors
    /// Fails if the workspace is not a directory or the tapes cannot be opened.
    pub async fn start(config: Config, workspace: &Path, channel: Box<dyn Channel>) -> Result<Arc<Self>> {
        Self::start_with(config, workspace, channel, StartOptions::default()).await
    }

    /// [`Self::start`] with options.
    ///
    /// # Errors
    /// Those of [`Self::start`].
    pub async fn start_with(
        config: Config,
        workspace: &Path,
        channel: Box<dyn Channel>,
        options: StartOptions<'_>,
    ) -> Result<Arc<Self>> {
        let workspace = workspace_dir(workspace)?;
        let (store, journals, database) = tapes(&config).await?;
        let store = chained(&config, store);
        if let Some(session) = options.session {
            store.read_ahead(&tape_name(&workspace, session));
        }
        let engines = Engines::new(options.is_short)
            .map_err(anyhow::Error::from)
            .context("the WebAssembly engine does not start")?;
        let quarantine = match config.is_trial {
            true => Quarantine::for_trial(&config.home),
            false => match &database {
                Some(database) => Quarantine::shared(&config.home, database.clone()).await?,
                None => Quarantine::new(&config.home),
            },
        };
        let (grants, recall) = (GrantRegistry::new(&config), Recall::new(config.recall_dir()));
        let rules = RuleBook::new(&config);
        let (cache, call_log) = (Cache::open(&config.cache_dir), CallLog::new(&config.home));
        config.warn_of_exposed();
        let host = Arc::new(Self {
            model: Client::new(config.model.clone())?,
            budget: Budget::new(&config, database.clone()).await?,
            config,
            workspace,
            store,
            journals,
            summaries: Arc::default(),
            database,
            engines: Arc::new(engines),
            linker: Arc::new(ImportLinker::default()),
            grants: Arc::new(grants),
            protection: Arc::new(ProtectionCache::default()),
            approvals: Arc::new(Approvals::default()),
            rules: Arc::new(rules),
            network: Network::default(),
            processes: Arc::new(Processes::new()),
            sandboxes: Arc::default(),
            servers: Arc::new(Servers::default()),
            channel: Arc::from(channel),
            post_turn_tasks: Arc::new(PostTurnTasks::default()),
            recall: Arc::new(recall),
            quarantine: Arc::new(quarantine),
            meter: Arc::new(Meter::default()),
            recordings: Arc::default(),
            call_log: Arc::new(call_log),
            events: Arc::new(EventBus::default()),
            cache: Arc::new(cache),
            plugins: Arc::default(),
            registry: Arc::default(),
            is_short: options.is_short,
            trails: options.trails,
        });
        let opening = if options.opens_plugins { Opening::All } else { Opening::AtFirstCall };
        let ahead = options.is_short.then(|| host.open_ahead());
        host.load_plugins(opening, ahead.as_ref()).await;
        if let Some((name, reason)) = &host.plugins().broken {
            anyhow::bail!("the embedded plugin `{name}` did not load: {reason}");
        }
        Ok(host)
    }

    /// Creates a host with another configuration and the same services, for the turns that start from now on. Token
    /// usage is kept, and plugins whose configuration did not change are not reloaded. Settings that cannot change
    /// while the program runs must be unchanged: [`Config::merge_reload`] ensures that.
    ///
    /// # Errors
    /// Fails if the program would not start with this configuration. Nothing changes then.
    pub async fn with_config(self: &Arc<Self>, config: Config) -> Result<Arc<Self>> {
        config.warn_of_exposed();
        let host = Arc::new(self.sharing(config)?);
        let query = LoadQuery(host.clone());
        host.registry.lock().await.renew_embedded(&host.load_context(&query, Opening::Files)).await?;
        host.load_plugins(Opening::Files, None).await;
        host.servers.retain(|name| host.config.mcp_servers().any(|(configured, _)| configured == name));
        Ok(host)
    }

    /// A host with that configuration and the same services.
    fn sharing(&self, config: Config) -> Result<Self> {
        Ok(Self {
            model: Client::new(config.model.clone())?,
            budget: self.budget.with_config(&config),
            config,
            workspace: self.workspace.clone(),
            store: self.store.clone(),
            journals: self.journals.clone(),
            summaries: self.summaries.clone(),
            database: self.database.clone(),
            engines: self.engines.clone(),
            linker: self.linker.clone(),
            grants: self.grants.clone(),
            protection: self.protection.clone(),
            approvals: self.approvals.clone(),
            rules: self.rules.clone(),
            network: self.network.clone(),
            processes: self.processes.clone(),
            sandboxes: self.sandboxes.clone(),
            servers: self.servers.clone(),
            channel: self.channel.clone(),
            post_turn_tasks: self.post_turn_tasks.clone(),
            recall: self.recall.clone(),
            quarantine: self.quarantine.clone(),
            meter: self.meter.clone(),
            recordings: self.recordings.clone(),
            call_log: self.call_log.clone(),
            events: self.events.clone(),
            cache: self.cache.clone(),
            plugins: self.plugins.clone(),
            registry: self.registry.clone(),
            is_short: self.is_short,
            trails: self.trails.clone(),
        })
    }

    /// Creates a host for another workspace, or with servers of its own, in the same process: it shares the services of this
    /// one, and has its own set of plugins. Settings that cannot change while the program runs must be those of this one.
    /// `channel` receives envelopes that no plugin delivers.
    ///
    /// # Errors
    /// Fails if the workspace is not a directory, or the program would not start with this configuration.
    pub async fn beside(
        self: &Arc<Self>,
        config: Config,
        workspace: &Path,
        channel: Box<dyn Channel>,
    ) -> Result<Arc<Self>> {
        let workspace = workspace_dir(workspace)?;
        let host = Arc::new(Self {
            workspace,
            grants: Arc::new(GrantRegistry::new(&config)),
            protection: Arc::new(ProtectionCache::default()),
            // Sessions have the same ids in other workspaces.
            approvals: Arc::new(Approvals::default()),
            post_turn_tasks: Arc::new(PostTurnTasks::default()),
            servers: Arc::new(Servers::default()),
            channel: Arc::from(channel),
            plugins: Arc::default(),
            registry: Arc::default(),
            ..self.sharing(config)?
        });
        host.load_plugins(Opening::AtFirstCall, None).await;
        if let Some((name, reason)) = &host.plugins().broken {
            anyhow::bail!("the embedded plugin `{name}` did not load: {reason}");
        }
        Ok(host)
    }

    /// Rescans the plugin directories for the turns that start from now on, and logs what changed. Returns `false` if a
    /// file is still being written; its previous version stays active.
    pub async fn refresh(self: &Arc<Self>) -> bool {
        self.load_plugins(Opening::Files, None).await
    }

    /// Compiles these bytes and queries them as the user's plugin of that name, without installing it.
    ///
    /// # Errors
    /// Fails if the plugin would not load.
    pub async fn probe(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<Arc<Plugin>> {
        let query = LoadQuery(self.clone());
        plugin::probe(&self.load_context(&query, Opening::All), name, bytes).await
    }

    /// Compiles the plugins that serve and were never compiled, one after the other in a child process, and logs what is
    /// wrong with any: a process that serves for long does so once it is ready.
    pub async fn prepare_plugins(self: &Arc<Self>) {
        let query = LoadQuery(self.clone());
        for plugin in self.plugins().iter() {
            if let Err(error) = plugin::prepare(&self.load_context(&query, Opening::AtFirstCall), plugin).await {
                tracing::warn!("plugin `{}` did not load: {error}", plugin.name);
            }
        }
    }

    /// Leaves a process behind that compiles for speed what this one compiled, or found compiled, quickly, unless the
    /// configuration forbids that.
    pub fn compile_in_background(&self) {
        if !self.config.background_compile {
            return;
        }
        if let Err(error) = plugin::recompile::start(&self.engines, &self.cache, &self.config.program) {
            tracing::debug!("the compiler of the background did not start: {error}");
        }
    }

    /// Opens the plugin, unless it is open: what each call into it begins with.
    ///
    /// # Errors
    ///
    /// It cannot be compiled, or is not what it declares.
    pub async fn open_plugin(self: &Arc<Self>, plugin: &Arc<Plugin>) -> Result<(), OpenError> {
        if plugin.is_open() {
            return Ok(());
        }
        let query = LoadQuery(self.clone());
        plugin::open(&self.load_context(&query, Opening::AtFirstCall), plugin).await
    }

    /// A thread that opens plugins beside this one. It ends when all are opened and the answer is dropped.
    fn open_ahead(self: &Arc<Self>) -> OpenAhead {
        let (sender, plugins) = mpsc::channel::<Arc<Plugin>>();
        let (host, runtime) = (self.clone(), Handle::current());
        tokio::task::spawn_blocking(move || {
            for plugin in plugins {
                if let Err(error) = runtime.block_on(host.open_plugin(&plugin)) {
                    tracing::debug!("plugin `{}` was not opened ahead: {error}", plugin.name);
                }
            }
        });
        OpenAhead::new(sender, &self.config.model.model)
    }

    fn load_context<'a>(&'a self, query: &'a LoadQuery, opening: Opening) -> LoadContext<'a> {
        LoadContext {
            config: &self.config,
            workspace: &self.workspace,
            engines: &self.engines,
            cache: &self.cache,
            grants: &self.grants,
            linker: &*self.linker,
            query,
            opening,
            ahead: None,
            compiles_quickly: self.is_short,
        }
    }

    async fn load_plugins(self: &Arc<Self>, opening: Opening, ahead: Option<&OpenAhead>) -> bool {
        // At startup there is no version before this one that could serve on.
        let waits = opening == Opening::Files;
        let mut registry = self.registry.lock().await;
        let query = LoadQuery(self.clone());
        let set = Arc::new(
            PluginSet::load(&LoadContext { ahead, ..self.load_context(&query, opening) }, &mut registry, waits).await,
        );
        let before = std::mem::replace(&mut *self.plugins.write(), set.clone());
        set.log_failures(&before);
        // At startup all plugins are new; the caller announces them.
        if waits {
            let plugins = set.log_changes(&self.grants, &before);
            if !plugins.is_empty() {
                self.events.publish(RuntimeEvent::PluginsChanged { plugins }, "");
            }
        }
        !registry.is_unfinished
    }
}

/// The configured store, the journals of the turns that write to it, and the database that several machines share. Journals
/// are files of this machine, unless they do.
async fn tapes(config: &Config) -> Result<(Arc<dyn Store>, Arc<Journals>, Option<Database>)> {
    let dir = config.tapes_dir();
    let settings = config.tapes.journal;
    let store: Arc<dyn Store> = match &config.tapes.storage {
        TapeStorage::Files => Arc::new(FileStore::indexed(&dir, settings.durability, config.index_dir())?),
        TapeStorage::Sqlite(path) => Arc::new(SqliteStore::open(path, settings.durability, config.tapes.shared_fs)?),
        TapeStorage::Postgres(address) => {
            let database = config.connect().await?.with_context(|| format!("`{address}` is no database"))?;
            let leases = Leases::new(database.clone(), config.tapes.terms());
            let store = Arc::new(PostgresStore::new(database.clone()));
            let turns = TurnSettings { lock_wait: settings.lock_wait, lookups: turn::lookups() };
            let journals = PostgresJournals::new(Arc::clone(&store), leases, turns);
            return Ok((store, Arc::new(Journals::over(Arc::new(journals))), Some(database)));
        }
    };
    Ok((store, Arc::new(Journals::new(dir, settings)), None))
}

fn workspace_dir(path: &Path) -> Result<PathBuf> {
    let found = path.canonicalize().with_context(|| format!("there is no workspace `{}`", path.display()))?;
    anyhow::ensure!(found.is_dir(), "the workspace `{}` is no directory", path.display());
    Ok(found)
}
