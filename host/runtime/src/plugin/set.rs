//! All plugins of a host, in the order in which they were registered.

use super::discovery::{self, PluginFile};
use super::embedded::EMBEDDED;
use super::grant_registry::GrantRegistry;
use super::load::LoadContext;
use super::loaded::{Plugin, Source};
use super::open_circuit::OpenCircuit;
use super::registry::{LoadOutcome, PluginRegistry, Untrusted};
use super::tool_name::{is_called, model_name};
use anyhow::{Result, bail};
use bub_permissions::{Grant, shell_word};
use bub_types::hook::Hook;
use std::sync::Arc;

/// The plugins that serve, and the ones that could not be loaded.
#[derive(Default)]
pub struct PluginSet {
    /// In order of registration: the last one is asked first.
    plugins: Vec<Arc<Plugin>>,
    /// Name and reason. A plugin of that name may serve all the same: the version before the one that did not load.
    pub failed: Vec<(String, String)>,
    /// Files of the workspace that are not run.
    pub untrusted: Vec<Untrusted>,
    /// An embedded guest that did not load, and why: there is something wrong with this machine, and no turn would be what
    /// it is meant to be.
    pub broken: Option<(&'static str, String)>,
    /// What is not used of the configured MCP servers, and why.
    pub notes: Vec<String>,
}

impl PluginSet {
    /// The embedded guests that are not switched off, then `$BUB_HOME/plugins/*.wasm` by file name, then those of the
    /// workspace whose bytes are trusted. A file that does not load is named in `failed`; the others serve, and so does the
    /// version of it that served before. With `waits` a file that is still being written to stays as it was.
    pub async fn load(with: &LoadContext<'_>, registry: &mut PluginRegistry, waits: bool) -> Self {
        registry.load_embedded(with).await;
        let files = discovery::files(with.config, with.workspace);
        registry.refresh(with, &files, waits).await;
        let mut set = Self { notes: registry.notes.clone(), ..Self::default() };
        for embedded in &EMBEDDED {
            let admitted = match registry.embedded.get(embedded.name) {
                Some(Ok(plugin)) => set.admit(plugin).map_err(|error| format!("{error:#}")),
                Some(Err(reason)) => Err(reason.clone()),
                None => Ok(()),
            };
            if let Err(reason) = admitted {
                set.broken.get_or_insert((embedded.name, reason));
            }
        }
        for found in &files {
            set.add(found, registry);
        }
        set
    }

    fn add(&mut self, found: &PluginFile, registry: &mut PluginRegistry) {
        let Some(entry) = registry.slots.get_mut(found) else { return };
        let reason = match &entry.latest {
            None => return,
            Some(LoadOutcome::Untrusted(digest)) => {
                let (name, path) = (found.name.clone(), found.path.clone());
                self.untrusted.push(Untrusted { name, path, digest: digest.clone() });
                return;
            }
            Some(LoadOutcome::Failed(reason)) => reason.clone(),
            Some(LoadOutcome::Plugin(plugin)) => match self.admit(plugin) {
                Ok(()) => {
                    entry.serving = Some(plugin.clone());
                    return;
                }
                Err(error) => format!("{error:#}"),
            },
        };
        match &entry.serving {
            Some(before) if self.admit(before).is_ok() => {
                self.fail(&found.name, format!("{reason}; the version before it serves on"));
            }
            _ => self.fail(&found.name, reason),
        }
    }

    /// Logs which plugins are not called, with the command that changes it. Revoked grants are not reported.
    pub fn announce(&self, grants: &GrantRegistry, quarantined: &[OpenCircuit]) {
        self.announce_new(grants, &Self::default());
        for circuit in quarantined {
            if let Some(plugin) = self.plugins.iter().find(|plugin| plugin.digest == circuit.digest) {
                tracing::warn!("hook `{}` of plugin `{}` is {circuit}", circuit.hook, plugin.name);
            }
        }
    }

    /// The same of those that `before` did not have.
    fn announce_new(&self, grants: &GrantRegistry, before: &Self) {
        for note in self.notes.iter().filter(|note| !before.notes.contains(note)) {
            tracing::warn!("{note}");
        }
        for file in self.untrusted.iter().filter(|file| !before.untrusted.contains(file)) {
            tracing::warn!(
                "plugin `{}` of this workspace is not run; if you trust it: bub-wasm plugin trust {}",
                bub_types::text::one_line(&file.name),
                shell_word(&file.path.to_string_lossy())
            );
        }
        let is_new = |plugin: &&Arc<Plugin>| match plugin.source {
            _ if before.has(plugin) => false,
            Source::Embedded => false,
            Source::User => grants.is_undecided(plugin),
            Source::Workspace => grants.given(plugin, |given| given.iter().next().is_none()),
        };
        for plugin in self.plugins.iter().filter(is_new) {
            let missing = grants.missing(plugin);
            if missing.is_empty() {
                continue;
            }
            let (lacks, to) = self.lack(grants, plugin);
            let why = match grants.is_for_other_bytes(plugin) {
                true => ": its grants are not for these bytes",
                false => "",
            };
            tracing::warn!("plugin `{}` {lacks}{why}; {to}: {}", plugin.name, grant_command(&plugin.name, &missing));
        }
    }

    /// Tells the log which files did not load that `before` did not know of.
    pub fn log_failures(&self, before: &Self) {
        for (name, reason) in self.failed.iter().filter(|failed| !before.failed.contains(failed)) {
            tracing::warn!("plugin `{name}` did not load: {reason}");
        }
    }

    /// Tells the log how this set differs from the one before it. Returns the names of the plugins that have changed.
    pub fn log_changes(&self, grants: &GrantRegistry, before: &Self) -> Vec<String> {
        let mut changed = Vec::new();
        for plugin in self.plugins.iter().filter(|plugin| !before.has(plugin)) {
            let how = match before.plugins.iter().find(|old| old.name == plugin.name) {
                Some(old) if old.digest == plugin.digest => "serves with other settings",
                Some(_) => "serves in a new version",
                None => "is there now",
            };
            tracing::info!("plugin `{}` {how}: {}", plugin.name, plugin.digest);
            changed.push(plugin.name.clone());
        }
        for old in before.plugins.iter().filter(|old| !self.plugins.iter().any(|plugin| plugin.name == old.name)) {
            tracing::info!("plugin `{}` is gone", old.name);
            changed.push(old.name.clone());
        }
        self.announce_new(grants, before);
        changed
    }

    /// Whether that very version of the plugin is in the set.
    fn has(&self, plugin: &Arc<Plugin>) -> bool {
        self.plugins.iter().any(|other| Arc::ptr_eq(other, plugin))
    }

    /// Whether the plugin lacks a grant that it needs to be asked all that it implements.
    fn lacks_hooks(grants: &GrantRegistry, plugin: &Plugin) -> bool {
        plugin.gated().any(|hook| !grants.allows(plugin, &Grant::hook(hook)))
    }

    /// Describes what a plugin lacks that asks for more than it has, and what giving it would do.
    pub fn lack(&self, grants: &GrantRegistry, plugin: &Plugin) -> (&'static str, &'static str) {
        match Self::lacks_hooks(grants, plugin) {
            false => ("does not hold all that it asks for", "to give it"),
            true => ("is not asked", "to let it answer"),
        }
    }

    /// Whether the candidate could be the user's own plugin of its name, beside those that there are. A workspace's plugin
    /// gives way to it.
    ///
    /// # Errors
    ///
    /// A name of it is taken. The error says which, and by which plugin.
    pub fn would_take(&self, candidate: &Arc<Plugin>) -> Result<()> {
        let stays = |other: &&Arc<Plugin>| match other.source {
            Source::Embedded => true,
            Source::User => other.name != candidate.name,
            Source::Workspace => false,
        };
        let plugins = self.plugins.iter().filter(stays).cloned().collect();
        Self { plugins, ..Self::default() }.admit(candidate)
    }

    /// A second tool, command or provider of a name would take the calls that were meant for the first.
    fn admit(&mut self, plugin: &Arc<Plugin>) -> Result<()> {
        if let Some(other) = self.plugins.iter().find(|other| other.name == plugin.name) {
            bail!("the name is taken by the {} plugin `{}`; rename the file", other.source.name(), other.name);
        }
        for (at, tool) in plugin.tools.iter().enumerate() {
            if plugin.tools[..at].iter().any(|other| is_called(&other.name, &tool.name)) {
                bail!("it has two tools that a model would both call `{}`", model_name(&tool.name));
            }
            if let Some(other) =
                self.plugins.iter().find(|other| other.tools.iter().any(|taken| is_called(&taken.name, &tool.name)))
            {
                bail!("its tool `{}` is there already, in plugin `{}`", tool.name, other.name);
            }
        }
        for command in &plugin.commands {
            if let Some(other) = self.with_command(&command.name) {
                bail!("its command `{}` is there already, in plugin `{}`", command.name, other.name);
            }
        }
        if let Some(provider) = &plugin.provider {
            if let Some(other) = self.plugins.iter().find(|other| other.provider.as_ref() == Some(provider)) {
                bail!("the model provider `{provider}` is there already, in plugin `{}`", other.name);
            }
            if bub_model::known_provider(provider) {
                bail!("the model provider `{provider}` is one of the host's own");
            }
        }
        self.plugins.push(plugin.clone());
        Ok(())
    }

    fn fail(&mut self, name: &str, reason: String) {
        // A file has whatever name its writer chose, a tool too, and both are shown on terminals.
        self.failed.push((bub_types::text::one_line(name), bub_types::text::one_line(&reason)));
    }

    /// The plugins that implement that hook, latest registered first.
    pub fn exporting(&self, hook: Hook) -> impl DoubleEndedIterator<Item = &Arc<Plugin>> {
        self.plugins.iter().rev().filter(move |plugin| plugin.implements(hook))
    }

    /// All plugins, in order of registration.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Plugin>> {
        self.plugins.iter()
    }

    /// The plugin that has the command of that name.
    pub fn with_command(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.plugins.iter().find(|plugin| plugin.commands.iter().any(|command| command.name == name))
    }

    /// The plugin that is the model provider of that name.
    pub fn provider(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.plugins.iter().find(|plugin| plugin.provider.as_deref() == Some(name))
    }
}

/// The command that gives a plugin these grants; none: all that it asks for.
pub fn grant_command(plugin: &str, grants: &[Grant]) -> String {
    let grants: Vec<String> =
        grants.iter().map(|grant| shell_word(&bub_types::text::one_line(grant.as_str()))).collect();
    format!("bub-wasm plugin grant {plugin} {}", grants.join(" ")).trim_end().to_owned()
}
