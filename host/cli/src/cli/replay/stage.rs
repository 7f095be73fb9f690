//! Hosts in which calls are made again: one for each plugin, component and configuration. Each is a sandbox with a home of
//! its own, no keys, no network and one plugin; what the plugin asks of the host is answered from a recording.

use super::components::{Component, Components};
use crate::cli::plugin::check::sandbox::{Sandbox, Subject, inside};
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_permissions::Grant;
use bub_recordings::{CallRecord, digest_of};
use bub_runtime::plugin;
use bub_types::text::one_line;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Hosts that are kept, at most.
const MAX_STAGES: usize = 64;

/// How long a call may take, in milliseconds: on a machine that is busy, too.
const DEADLINE_MS: u64 = 60_000;

/// Grants of a call that is made again: the hook is called, and nothing else needs one.
const GRANTS: [Grant; 6] =
    [Grant::ALL_HOOKS, Grant::ALL_TAPES, Grant::ALL_TOOLS, Grant::AGENT, Grant::USAGE, Grant::WORKSPACE];

type Key = (String, String, String);

/// The hosts so far.
pub(super) struct Stages<'a> {
    config: &'a Config,
    components: Components,
    /// Components in the place of those that were recorded, by the names of their plugins.
    exchanged: BTreeMap<String, Vec<u8>>,
    stages: HashMap<Key, Result<Rc<Sandbox>, String>>,
}

impl<'a> Stages<'a> {
    pub(super) fn new(config: &'a Config, components: Components, exchanged: BTreeMap<String, Vec<u8>>) -> Self {
        Self { config, components, exchanged, stages: HashMap::new() }
    }

    /// Whether the plugin has another component than was recorded.
    pub(super) fn is_exchanged(&self, plugin: &str) -> bool {
        self.exchanged.contains_key(plugin)
    }

    /// The host for a call, with the plugin that made it.
    ///
    /// # Errors
    ///
    /// The plugin is gone, or does not load.
    pub(super) async fn of_call(&mut self, call: &CallRecord) -> Result<Rc<Sandbox>, String> {
        let key = (call.plugin.clone(), call.component.clone(), digest_of(&call.config));
        if let Some(stage) = self.stages.get(&key) {
            return stage.clone();
        }
        if self.stages.len() >= MAX_STAGES {
            self.close().await;
        }
        let started = self.start(call).await.map(Rc::new).map_err(|error| one_line(&format!("{error:#}")));
        self.stages.insert(key, started.clone());
        started
    }

    async fn start(&self, call: &CallRecord) -> Result<Sandbox> {
        let name = &call.plugin;
        bub_types::plugin_name::check_name(name).context("the recording is not understood")?;
        if let Some(bytes) = self.exchanged.get(name) {
            return start(self.config, call, Some(bytes)).await;
        }
        let component = self.components.get(name, &call.component).with_context(|| {
            let digest = one_line(&call.component);
            format!("plugin `{name}` with sha256 {digest} is gone: install that version again, or give it by --with")
        })?;
        let bytes = match component {
            Component::Embedded => None,
            Component::File(path) => Some(plugin::bytes_of(&path)?),
            Component::Bytes(bytes) => Some(bytes),
        };
        if let Some(bytes) = &bytes
            && plugin::digest(bytes) != call.component
        {
            bail!("the file of plugin `{name}` has just changed: run the command again");
        }
        start(self.config, call, bytes.as_deref()).await
    }

    /// The instances of a turn are of no use to another.
    pub(super) fn end_turn(&self) {
        for stage in self.stages.values().flatten() {
            stage.host.recordings.forget_instances();
        }
    }

    /// Ends all hosts.
    pub(super) async fn close(&mut self) {
        for (_, stage) in self.stages.drain() {
            if let Ok(stage) = stage {
                stage.host.close().await;
            }
        }
    }
}

/// A host for calls of that plugin with that configuration.
pub(super) async fn start(config: &Config, call: &CallRecord, bytes: Option<&[u8]>) -> Result<Sandbox> {
    let settings = settings(call).context("the configuration in the recording is not understood")?;
    let subject = Subject {
        name: &call.plugin,
        bytes,
        settings,
        grants: inside(&GRANTS, None),
        provider: None,
        selects: false,
        is_alone: true,
    };
    Sandbox::start(config, subject).await
}

fn settings(call: &CallRecord) -> Result<bub_config::Plugin> {
    let part = |name: &str| call.config.get(name).and_then(Value::as_object).cloned();
    let mut limits: Map<String, Value> = part("limits").context("it has no limits")?;
    limits.insert("deadline_ms".to_owned(), DEADLINE_MS.into());
    let mut plugin = bub_config::Plugin::default();
    plugin.config = part("config").unwrap_or_default();
    plugin.limited(limits.into()).map_err(|reason| anyhow::anyhow!(reason))
}
