//! A sandbox: a host with a temporary home, a stand-in model, automatic approvals and no network.

use anyhow::{Context, Result, bail};
use bub_config::OnFault;
use bub_config::{Config, McpServer, TrialConfig};
use bub_permissions::{Grant, GrantKind, Grants};
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest, Channel};
use bub_runtime::error::Failure;
use bub_runtime::host::Host;
use bub_runtime::plugin;
use bub_runtime::plugin::{Plugin, is_embedded, quarantine};
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_types::Envelope;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::watch;

/// The plugin, and its grants in the trial.
pub(in crate::cli) struct Subject<'a> {
    pub(in crate::cli) name: &'a str,
    /// `None` for an embedded guest.
    pub(in crate::cli) bytes: Option<&'a [u8]>,
    /// Its configuration, without grants.
    pub(in crate::cli) settings: bub_config::Plugin,
    pub(in crate::cli) grants: Grants,
    /// The name of the plugin as the model provider, if it is one.
    pub(in crate::cli) provider: Option<&'a str>,
    /// Whether it is the context selector.
    pub(in crate::cli) selects: bool,
    /// Whether all other plugins are disabled.
    pub(in crate::cli) is_alone: bool,
}

/// The host and its temporary home.
pub(in crate::cli) struct Sandbox {
    pub(in crate::cli) host: Arc<Host>,
    /// The loaded plugin.
    pub(in crate::cli) plugin: Arc<Plugin>,
    /// The directory of its home and its workspace.
    _root: TempDir,
}

/// Discards messages and allows every tool call: the grants bound what they can do.
struct ApprovingChannel;

impl Channel for ApprovingChannel {
    fn send<'a>(&'a self, _: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn ask<'a>(
        &'a self,
        _: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        Box::pin(std::future::ready(Some(ApprovalDecision::Once)))
    }
}

impl Sandbox {
    /// Creates the home and starts the host. The cache of compiled code is that of the user.
    ///
    /// # Errors
    ///
    /// The home cannot be created, or the plugin does not load.
    pub(in crate::cli) async fn start(own: &Config, subject: Subject<'_>) -> Result<Self> {
        let root =
            tempfile::Builder::new().prefix("bub-wasm-check.").tempdir().context("no home can be made for it")?;
        let [home, workspace] = ["home", "workspace"].map(|name| root.path().join(name));
        let plugins = home.join(bub_config::PLUGINS_DIR);
        std::fs::create_dir_all(&plugins)?;
        std::fs::create_dir(&workspace)?;
        std::fs::write(workspace.join("notes.txt"), "A file of a workspace.\n")?;
        if let Some(bytes) = subject.bytes {
            std::fs::write(plugins.join(format!("{}.wasm", subject.name)), bytes)?;
        }
        let provider = subject.provider;
        let trial = TrialConfig {
            home,
            workspace: workspace.canonicalize()?,
            model: provider
                .map_or_else(|| bub_config::DEFAULT_MODEL.to_owned(), |provider| format!("{provider}:check")),
            selector: subject.selects.then(|| subject.name.to_owned()),
            plugins: settings(&subject),
        };
        let mut config = own.for_trial(trial)?;
        if subject.name == plugin::MCP_GUEST {
            // It is loaded only where there is a server.
            config.mcp.insert("none".to_owned(), McpServer::default());
        }
        let host = Host::start(config, &workspace, Box::new(ApprovingChannel)).await?;
        let plugins = host.plugins();
        if let Some((_, reason)) = plugins.failed.iter().find(|(name, _)| name == subject.name) {
            bail!("plugin `{}` does not load: {reason}", subject.name);
        }
        let found = plugins.iter().find(|plugin| plugin.name == subject.name);
        let plugin = found.with_context(|| format!("plugin `{}` does not load", subject.name))?.clone();
        // The time of a turn is for the plugin's calls, and an interpreter takes longer to compile. A failure is met again by
        // the first call.
        if let Err(error) = host.open_plugin(&plugin).await {
            tracing::debug!("plugin `{}` does not open: {error}", subject.name);
        }
        Ok(Self { host, plugin, _root: root })
    }

    /// Runs one turn.
    ///
    /// # Errors
    ///
    /// The turn failed.
    pub(in crate::cli) async fn turn(&self, message: Envelope) -> Result<(), Failure> {
        let (_open, cancel) = watch::channel(false);
        let outcome = run_turn(&self.host, message, TurnOptions::new(cancel)).await.map(drop);
        self.host.rest().await;
        outcome
    }

    /// The directory of crash reports.
    pub(in crate::cli) fn crash_reports(&self) -> PathBuf {
        self.host.config.home.join(quarantine::DIR)
    }
}

/// The configuration of each plugin. The stand-in model controls all of them, so none gets access to anything outside.
fn settings(subject: &Subject<'_>) -> BTreeMap<String, bub_config::Plugin> {
    let others = plugin::embedded().map(|(name, grants)| {
        let held = || inside(grants, subject.provider);
        let other = if subject.is_alone {
            bub_config::Plugin::off()
        } else {
            bub_config::Plugin::default().with_grants(held())
        };
        (name.to_owned(), other)
    });
    let mut all: BTreeMap<String, bub_config::Plugin> = others.collect();
    let mut own = subject.settings.clone().with_grants(subject.grants.clone());
    // A fault in one hook must not stop the test of the others.
    if own.on_fault == OnFault::Fail {
        own.on_fault = OnFault::Skip;
    }
    // A file with the name of an embedded guest replaces it if that is disabled.
    own.enabled = subject.bytes.is_none() || !is_embedded(subject.name);
    all.insert(subject.name.to_owned(), own);
    all
}

/// The grants that only affect the sandbox.
pub(in crate::cli) fn inside<'a>(grants: impl IntoIterator<Item = &'a Grant>, provider: Option<&str>) -> Grants {
    let mut inside = Grants::default();
    for grant in grants {
        match (grant.kind(), grant.target()) {
            // A server on this machine may need no key.
            (GrantKind::Model, "*") => {
                for provider in ["offline"].into_iter().chain(provider) {
                    inside.insert(Grant::model(&format!("{provider}:*")));
                }
            }
            (GrantKind::Model, model) if model.starts_with("offline:") => drop(inside.insert(grant.clone())),
            // The workspace is a directory of the sandbox.
            (GrantKind::Fs, path) if path.starts_with("<workspace>") => drop(inside.insert(grant.clone())),
            (GrantKind::Hook | GrantKind::Tape | GrantKind::Tools | GrantKind::Agent | GrantKind::Usage, _) => {
                inside.insert(grant.clone());
            }
            _ => {}
        }
    }
    inside
}
