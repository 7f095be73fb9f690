//! Hosts by workspace: sessions of one folder with the same MCP servers share one, and all share the services of the first.

use super::channel::OutOfPrompt;
use super::message::{internal, invalid_params};
use super::servers::{self, Servers};
use agent_client_protocol_schema::v1::{Error, McpServer as Offered};
use bub_config::Config;
use bub_runtime::host::Host;
use bub_types::text::{escaped, one_line};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::Mutex;

/// Folders with their servers at once. Beyond them, sessions are refused.
const MAX_WORKSPACES: usize = 64;

/// Reads the configuration, with the options of the command line.
pub(crate) type Configure = Box<dyn Fn() -> anyhow::Result<Config> + Send + Sync>;

/// All of them.
pub(crate) struct Workspaces {
    configure: Configure,
    default: PathBuf,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// The first host, whose services the others share.
    base: Option<Arc<Host>>,
    all: HashMap<Key, Arc<Workspace>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    workspace: PathBuf,
    /// What the editor says of its servers.
    servers: String,
}

/// A folder, and the host of its sessions.
pub(crate) struct Workspace {
    key: Key,
    host: RwLock<Arc<Host>>,
    /// The configuration file that the host has read.
    read: Mutex<Stamp>,
    servers: Servers,
    /// Lines about servers that are not used.
    pub(crate) notes: Vec<String>,
    /// Why each turn begins tainted.
    pub(crate) taint: Option<String>,
}

type Stamp = Option<(SystemTime, u64)>;

impl Workspaces {
    /// `configure` reads the configuration; `default` is the folder of what needs a host before there is a session.
    pub(crate) fn new(configure: Configure, default: PathBuf) -> Self {
        Self { configure, default, open: Mutex::default() }
    }

    /// Any host.
    pub(crate) async fn any(&self) -> Result<Arc<Host>, Error> {
        let mut open = self.open.lock().await;
        if let Some(base) = &open.base {
            return Ok(Arc::clone(base));
        }
        let default = self.default.clone();
        Ok(self.host(&mut open, &default, &Servers::new()).await?.0)
    }

    /// The workspace of that folder with those servers.
    pub(crate) async fn open(&self, folder: &Path, offered: &[Offered]) -> Result<Arc<Workspace>, Error> {
        let workspace = folder_of(folder)?;
        let servers = serde_json::to_string(offered).map_err(|error| internal(error.to_string()))?;
        let key = Key { workspace, servers };
        let mut open = self.open.lock().await;
        if let Some(workspace) = open.all.get(&key) {
            return Ok(Arc::clone(workspace));
        }
        if open.all.len() >= MAX_WORKSPACES {
            return Err(internal(format!("{MAX_WORKSPACES} workspaces are open already: close sessions first")));
        }
        let config = self.config()?;
        let (offered, mut notes) = servers::read(offered, &config, config.trusts(&key.workspace));
        let (mut host, read) = self.host(&mut open, &key.workspace, &offered).await?;
        // Other sessions do not wait for the servers of this one.
        drop(open);
        let mut servers = Servers::new();
        if !offered.is_empty() {
            let (answered, more) = servers::ask(&host, offered).await;
            notes.extend(more);
            let config = servers::added(self.merged(&host)?, &answered);
            host = host.with_config(config).await.map_err(failed)?;
            servers = answered;
        }
        let names: Vec<String> = servers.keys().map(|name| format!("`{name}`")).collect();
        let taint = (!names.is_empty())
            .then(|| format!("nobody has accepted the tools of {}, which the editor brought along", names.join(", ")));
        let workspace = Arc::new(Workspace {
            key: key.clone(),
            host: RwLock::new(host),
            read: Mutex::new(read),
            servers,
            notes,
            taint,
        });
        let mut open = self.open.lock().await;
        if let Some(meanwhile) = open.all.get(&key) {
            workspace.host().servers.retain(|_| false);
            return Ok(Arc::clone(meanwhile));
        }
        open.all.insert(key, Arc::clone(&workspace));
        Ok(workspace)
    }

    /// A host of that folder with those servers.
    async fn host(&self, open: &mut Open, folder: &Path, servers: &Servers) -> Result<(Arc<Host>, Stamp), Error> {
        let config = self.config()?;
        let read = stamp(&config.file());
        let base = match &open.base {
            Some(base) => Arc::clone(base),
            None => {
                let base = Host::start(self.config()?, folder, Box::new(OutOfPrompt)).await.map_err(failed)?;
                base.plugins().announce(&base.grants, &base.quarantined());
                open.base = Some(Arc::clone(&base));
                if servers.is_empty() {
                    return Ok((base, read));
                }
                base
            }
        };
        let (config, _) = config.merge_reload(&base.config);
        let host = base.beside(servers::added(config, servers), folder, Box::new(OutOfPrompt)).await.map_err(failed)?;
        Ok((host, read))
    }

    /// The host of that workspace, with the configuration as it is now: the user may have trusted the workspace meanwhile.
    pub(crate) async fn current(&self, workspace: &Workspace) -> Arc<Host> {
        let host = workspace.host();
        let mut read = workspace.read.lock().await;
        let now = stamp(&host.config.file());
        if *read == now {
            return host;
        }
        *read = now;
        let renewed = async {
            let config = servers::added(self.merged(&host)?, &workspace.servers);
            host.with_config(config).await.map_err(failed)
        };
        match renewed.await {
            Ok(renewed) => {
                tracing::info!("the changed configuration is in effect");
                *workspace.host.write() = Arc::clone(&renewed);
                renewed
            }
            Err(error) => {
                tracing::warn!("the previous configuration stays active: {}", error.message);
                host
            }
        }
    }

    /// No session uses the workspace any more: its servers end.
    pub(crate) async fn release(&self, workspace: &Arc<Workspace>) {
        self.open.lock().await.all.remove(&workspace.key);
        let host = workspace.host();
        host.rest().await;
        host.servers.retain(|_| false);
    }

    /// Waits for what runs after turns, and ends what plugins have started.
    pub(crate) async fn close(&self) {
        let open = self.open.lock().await;
        for workspace in open.all.values() {
            workspace.host().rest().await;
        }
        if let Some(base) = &open.base {
            base.close().await;
            base.compile_in_background();
        }
    }

    fn config(&self) -> Result<Config, Error> {
        (self.configure)().map_err(failed)
    }

    fn merged(&self, host: &Host) -> Result<Config, Error> {
        Ok(self.config()?.merge_reload(&host.config).0)
    }
}

impl Workspace {
    /// Its host, as it was last.
    pub(crate) fn host(&self) -> Arc<Host> {
        self.host.read().clone()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.key.workspace
    }
}

/// A folder that an editor names.
///
/// # Errors
///
/// It is relative, or there is no such folder.
pub(crate) fn folder_of(path: &Path) -> Result<PathBuf, Error> {
    let shown = || escaped(&path.to_string_lossy(), 200);
    if !path.is_absolute() {
        return Err(invalid_params(format!("`cwd` is `{}`, and has to be an absolute path", shown())));
    }
    let found = path.canonicalize().ok().filter(|found| found.is_dir());
    found.ok_or_else(|| invalid_params(format!("`cwd` is `{}`, which is no folder", shown())))
}

fn stamp(file: &Path) -> Stamp {
    let about = std::fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn failed(error: anyhow::Error) -> Error {
    internal(one_line(&format!("{error:#}")))
}
