//! A host of its own for one plugin: a home that is gone afterwards, a model that is none, nobody to ask, nothing outside.

use crate::channel::{Answer, Channel, Question};
use crate::config::{self, Config};
use crate::error::Failure;
use crate::host::Host;
use crate::plugin::bindings::{Envelope, MessageKind};
use crate::turn::{Audience, run_turn};
use anyhow::{Context, Result};
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
    /// `[plugins.NAME]`, of which `grants` is replaced; empty where the user has said nothing.
    pub(super) table: toml_edit::Table,
    pub(super) grants: Vec<String>,
    /// The plugin is the model itself, by that name.
    pub(super) provider: Option<&'a str>,
    /// The plugin selects.
    pub(super) selects: bool,
}

/// The host, for as long as its home is there.
pub(super) struct Sandbox {
    pub(super) host: Arc<Host>,
    home: TempDir,
}

/// Takes everything, and allows every tool call: what the plugin may do is held by its grants.
struct Mute;

impl Channel for Mute {
    fn send<'a>(&'a self, _: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn ask<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send + 'a>> {
        Box::pin(std::future::ready(Some(Answer::Once)))
    }
}

impl Sandbox {
    /// Makes the home and starts the host. Compiled code is shared with the user's own home.
    ///
    /// # Errors
    ///
    /// The home cannot be made, or the host does not start.
    pub(super) async fn start(own: &Config, subject: Subject<'_>) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("bub-wasm-check.").tempdir().context("no home can be made for it")?;
        let plugins = home.path().join(config::PLUGINS_DIR);
        let workspace = home.path().join("workspace");
        std::fs::create_dir(&plugins)?;
        std::fs::create_dir(&workspace)?;
        std::fs::write(workspace.join("notes.txt"), "A file of a workspace.\n")?;
        if let Some(bytes) = subject.bytes {
            std::fs::write(plugins.join(format!("{}.wasm", subject.name)), bytes)?;
        }
        std::fs::write(home.path().join("config.toml"), configuration(subject.table, subject.name, &subject.grants, subject.selects)?)?;
        let mut config = Config::load(Some(home.path()))?;
        config.seclude(subject.provider.map(|provider| format!("{provider}:check")))?;
        config.cache_dir.clone_from(&own.cache_dir);
        config.program.clone_from(&own.program);
        config.trusted_workspaces = vec![workspace.canonicalize()?];
        let host = Host::start(config, &workspace, Box::new(Mute)).await?;
        Ok(Self { host, home })
    }

    /// Runs one turn.
    ///
    /// # Errors
    ///
    /// What ended it early.
    pub(super) async fn turn(&self, message: Envelope) -> Result<(), Failure> {
        let (_keep, cancel) = watch::channel(false);
        run_turn(&self.host, message, Audience::new(cancel)).await.map(drop)
    }

    /// Where the calls are kept that broke.
    pub(super) fn evidence(&self) -> PathBuf {
        self.home.path().join(crate::plugin::quarantine::DIR)
    }
}

/// A message, as a channel would bring it.
pub(super) fn message(session: &str, channel: &str, sender: &str, content: &str) -> Envelope {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let is_command = channel == "cli" && content.starts_with(',');
    Envelope {
        id: None,
        session_id: Some(session.to_owned()),
        channel: channel.to_owned(),
        chat_id: "check".to_owned(),
        sender: Some(sender.to_owned()),
        content: content.to_owned(),
        kind: if is_command { MessageKind::Command } else { MessageKind::Normal },
        context: vec![("sender_id".into(), json(sender)), ("channel".into(), json(&format!("${channel}")))],
        media: Vec::new(),
        output_channel: None,
    }
}

fn configuration(mut table: toml_edit::Table, name: &str, grants: &[String], selects: bool) -> Result<String> {
    let mut document = toml_edit::DocumentMut::new();
    if selects {
        document["selector"] = toml_edit::value(name);
    }
    for key in ["digest", "follow", "enabled"] {
        table.remove(key);
    }
    table["follow"] = toml_edit::value(true);
    *config::edit::plugin(&mut document, name)? = table;
    let table = config::edit::plugin(&mut document, name)?;
    config::edit::set_list(table, "grants", grants.iter().map(String::as_str));
    Ok(document.to_string())
}
