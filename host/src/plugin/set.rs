//! All plugins of a host, in the order in which they were registered.

use super::cache::Cache;
use super::embedded::EMBEDDED;
use super::load::{Candidate, Plugin, Source, compile, introduce};
use crate::config::{self, Config};
use crate::grants::{Grants, hook_grant};
use crate::host::Host;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest component file that is read, in bytes. A Python guest has 18 MB.
const MAX_FILE: u64 = 64 << 20;

/// Exports that nobody calls unasked: they need no grant.
pub(crate) const CALLED_BY_NAME: [&str; 3] = ["tools", "commands", "manifest"];

/// The plugins that serve, and the ones that could not be loaded.
#[derive(Default)]
pub struct PluginSet {
    /// In order of registration: the last one is asked first.
    plugins: Vec<Arc<Plugin>>,
    /// Name and reason.
    pub failed: Vec<(String, String)>,
}

impl PluginSet {
    /// Loads the embedded guests that are not switched off, then `$BUB_HOME/plugins/*.wasm` by file name. A file that
    /// does not load is named in `failed`; the others serve.
    pub async fn load(host: &Arc<Host>) -> Self {
        let config = &host.config;
        let cache = Cache::open(&config.cache_dir);
        let mut set = Self::default();
        for embedded in EMBEDDED {
            let settings = config.plugin(embedded.name);
            if !settings.enabled {
                continue;
            }
            let table = Grants::new(embedded.grants.iter().copied());
            let candidate = Candidate {
                name: embedded.name,
                source: Source::Embedded,
                bytes: embedded.bytes,
                table,
                reserved: Vec::new(),
                limits: config.limits_of(embedded.name),
                settings: &settings,
            };
            set.add(host, &cache, candidate).await;
        }
        for (name, path) in files(config) {
            if let Err(reason) = set.add_file(host, &cache, &name, &path).await {
                set.fail(&name, &reason);
            }
        }
        set
    }

    /// Says which files are there and not asked, with the command that changes it.
    /// What was given and taken back is the user's own word, and is not spoken of.
    pub fn announce(&self, host: &Host) {
        let is_new = |plugin: &&Arc<Plugin>| {
            plugin.source == Source::User
                && (host.config.plugin(&plugin.name).grants.is_none() || host.ledger.is_for_other_bytes(plugin))
        };
        for plugin in self.plugins.iter().filter(is_new) {
            let unasked = self.unasked(host, plugin);
            if !unasked.is_empty() {
                let other = host.ledger.is_for_other_bytes(plugin);
                let why = if other { ": its grants are not for these bytes" } else { "" };
                tracing::warn!(
                    "plugin `{0}` is not asked{why}; to let it answer: bub-wasm plugin grant {0} {1}",
                    plugin.name,
                    unasked.join(" ")
                );
            }
        }
    }

    /// What the plugin would have to be granted to be asked all that it implements.
    pub(crate) fn unasked(&self, host: &Host, plugin: &Plugin) -> Vec<String> {
        let hooks = plugin.hooks.iter().filter(|hook| !CALLED_BY_NAME.contains(hook)).map(|hook| hook_grant(hook));
        hooks.filter(|grant| !host.ledger.allows(plugin, grant)).collect()
    }

    async fn add_file(&mut self, host: &Arc<Host>, cache: &Cache, name: &str, path: &Path) -> Result<()> {
        if is_embedded(name) && host.config.plugin(name).enabled {
            bail!(
                "the name is taken by an embedded plugin; set `enabled = false` in `[plugins.{name}]` to use the file in its place, or rename the file"
            );
        }
        let bytes = read(path)?;
        let settings = host.config.plugin(name);
        let candidate = Candidate {
            name,
            source: Source::User,
            bytes: &bytes,
            table: Grants::default(),
            reserved: EMBEDDED.iter().map(|guest| guest.name).filter(|name| host.config.plugin(name).enabled).collect(),
            limits: host.config.limits_of(name),
            settings: &settings,
        };
        self.add(host, cache, candidate).await;
        Ok(())
    }

    async fn add(&mut self, host: &Arc<Host>, cache: &Cache, candidate: Candidate<'_>) {
        let name = candidate.name.to_owned();
        let loaded = match compile(&host.engines, cache, candidate) {
            Ok(plugin) => introduce(host, plugin).await,
            Err(error) => Err(error),
        };
        match loaded.and_then(|plugin| self.admit(plugin)) {
            Ok(()) => {}
            Err(error) => self.fail(&name, &error),
        }
    }

    /// A second tool, command or provider of a name would take the calls that were meant for the first.
    fn admit(&mut self, plugin: Plugin) -> Result<()> {
        for (at, tool) in plugin.tools.iter().enumerate() {
            if plugin.tools[..at].iter().any(|other| model_name(&other.name) == model_name(&tool.name)) {
                bail!("it has two tools that a model would both call `{}`", model_name(&tool.name));
            }
            if let Some(other) = self
                .plugins
                .iter()
                .find(|other| other.tools.iter().any(|taken| model_name(&taken.name) == model_name(&tool.name)))
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
            if crate::model::known_provider(provider) {
                bail!("the model provider `{provider}` is one of the host's own");
            }
        }
        self.plugins.push(Arc::new(plugin));
        Ok(())
    }

    fn fail(&mut self, name: &str, reason: &anyhow::Error) {
        let reason = format!("{reason:#}");
        // Without an embedded guest the program does not start, and says why itself.
        if !is_embedded(name) || self.plugins.iter().any(|plugin| plugin.name == name) {
            tracing::warn!("plugin `{name}` did not load: {reason}");
        }
        self.failed.push((name.to_owned(), reason));
    }

    /// The plugins that implement that hook, latest registered first.
    pub fn exporting<'a>(&'a self, hook: &'a str) -> impl DoubleEndedIterator<Item = &'a Arc<Plugin>> {
        self.plugins.iter().rev().filter(move |plugin| plugin.implements(hook))
    }

    /// An embedded guest that did not load: there is something wrong with this machine, and no turn would be what it is
    /// meant to be.
    pub(crate) fn failed_embedded(&self) -> Option<&(String, String)> {
        self.failed
            .iter()
            .find(|(name, _)| is_embedded(name) && !self.plugins.iter().any(|plugin| plugin.name == *name))
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

/// A tool's name as the model sees it: providers allow no dots.
pub(crate) fn model_name(name: &str) -> String {
    name.replace('.', "_")
}

/// The bytes of a component file. They are read once: what is hashed is what is compiled.
fn read(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    // Looked at before it is opened: a pipe under that name would wait for its writer for ever.
    let meta = std::fs::metadata(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    if !meta.is_file() {
        bail!("`{}` is no file", path.display());
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        bail!("it is larger than {} MiB", MAX_FILE >> 20);
    }
    Ok(bytes)
}

/// The files of the user's directory, by name, less those that are switched off.
fn files(config: &Config) -> Vec<(String, PathBuf)> {
    let mut files: Vec<(String, PathBuf)> = std::fs::read_dir(config.home.join(config::PLUGINS_DIR))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        .map(|path| (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path))
        // Under an embedded guest's name `enabled = false` switches off the embedded one; a file may take its place.
        .filter(|(name, _)| config.plugin(name).enabled || is_embedded(name))
        .collect();
    files.sort();
    files
}

fn is_embedded(name: &str) -> bool {
    EMBEDDED.iter().any(|embedded| embedded.name == name)
}
