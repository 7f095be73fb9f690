//! A host of its own for one plugin: a home that is gone afterwards, a model that is none, nobody to ask, nothing outside.

use anyhow::{Context, Result, bail};
use bub_config::OnFault;
use bub_config::{Config, TrialConfig};
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

/// What the plugin is, and what it holds while it is tried.
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    /// None for an embedded guest, which is there without.
    pub(super) bytes: Option<&'a [u8]>,
    /// What holds of it, but for its grants.
    pub(super) settings: bub_config::Plugin,
    pub(super) grants: Vec<String>,
    /// The plugin is the model itself, by that name.
    pub(super) provider: Option<&'a str>,
    /// The plugin selects.
    pub(super) selects: bool,
    /// All other plugins are switched off.
    pub(super) is_alone: bool,
}

/// The host, for as long as its home is there.
pub(super) struct Sandbox {
    pub(super) host: Arc<Host>,
    /// The plugin as it was loaded there.
    pub(super) plugin: Arc<Plugin>,
    /// Its home and its workspace, side by side.
    _root: TempDir,
}

/// Takes everything, and allows every tool call: what can be done is held by what the plugins were given.
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
    /// Makes the home and starts the host. Compiled code is shared with the user's own home.
    ///
    /// # Errors
    ///
    /// The home cannot be made, or the plugin does not load there.
    pub(super) async fn start(own: &Config, subject: Subject<'_>) -> Result<Self> {
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
        let host = Host::start(own.for_trial(trial)?, &workspace, Box::new(ApprovingChannel)).await?;
        let plugins = host.plugins();
        if let Some((_, reason)) = plugins.failed.iter().find(|(name, _)| name == subject.name) {
            bail!("plugin `{}` does not load: {reason}", subject.name);
        }
        let found = plugins.iter().find(|plugin| plugin.name == subject.name);
        let plugin = found.with_context(|| format!("plugin `{}` does not load", subject.name))?.clone();
        Ok(Self { host, plugin, _root: root })
    }

    /// Runs one turn.
    ///
    /// # Errors
    ///
    /// What ended it early.
    pub(super) async fn turn(&self, message: Envelope) -> Result<(), Failure> {
        let (_open, cancel) = watch::channel(false);
        let outcome = run_turn(&self.host, message, TurnOptions::new(cancel)).await.map(drop);
        self.host.rest().await;
        outcome
    }

    /// Where the calls are kept that broke.
    pub(super) fn evidence(&self) -> PathBuf {
        self.host.config.home.join(quarantine::DIR)
    }
}

/// What each plugin holds. Whoever steers the model steers all of them, so none reaches anything outside.
fn settings(subject: &Subject<'_>) -> BTreeMap<String, bub_config::Plugin> {
    let others = plugin::embedded().map(|(name, grants)| {
        let held = || inside(grants.iter().copied(), subject.provider);
        let other = if subject.is_alone {
            bub_config::Plugin::off()
        } else {
            bub_config::Plugin::default().with_grants(held())
        };
        (name.to_owned(), other)
    });
    let mut all: BTreeMap<String, bub_config::Plugin> = others.collect();
    let mut own = subject.settings.clone().with_grants(subject.grants.clone());
    // What breaks one hook must not keep the trial from those behind it.
    if own.on_fault == OnFault::Fail {
        own.on_fault = OnFault::Skip;
    }
    // A file that has an embedded guest's name takes its place where that is switched off.
    own.enabled = subject.bytes.is_none() || !is_embedded(subject.name);
    all.insert(subject.name.to_owned(), own);
    all
}

/// Those of the grants that reach nothing outside of the sandbox: what is done with them there is gone afterwards.
pub(super) fn inside<'a>(grants: impl IntoIterator<Item = &'a str>, provider: Option<&str>) -> Vec<String> {
    let mut inside = Vec::new();
    for grant in grants {
        let (kind, target) = grant.split_once(':').unwrap_or((grant, ""));
        match kind {
            "hook" | "tape" | "tools" | "agent" | "usage" => inside.push(grant.to_owned()),
            // Its workspace is a directory of the sandbox.
            "fs" if target.starts_with("<workspace>") => inside.push(grant.to_owned()),
            // A server on this machine may need no key.
            "model" if target == "*" => {
                inside.extend(["offline"].into_iter().chain(provider).map(|provider| format!("model:{provider}:*")));
            }
            "model" if target.starts_with("offline:") => inside.push(grant.to_owned()),
            _ => {}
        }
    }
    inside
}
