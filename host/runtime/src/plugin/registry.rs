//! Loaded plugins, kept from one set to the next: unchanged files are not read again, and a version that does not load
//! leaves the previous one active.

use super::digest::digest;
use super::discovery::{FileFingerprint, PluginFile, ReadOutcome, read_component, user_dir};
use super::embedded::{EMBEDDED, is_embedded};
use super::load::{Candidate, Component, LoadContext, load};
use super::loaded::{Plugin, Source};
use super::mcp::{MCP_GUEST, McpSupply};
use super::signature_gate::SignatureGate;
use anyhow::{Result, bail};
use bub_config::Limits;
use bub_config::OnFault;
use bub_permissions::Grants;
use bub_types::ToolSpec;
use bub_types::plugin_name::check_name;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// All plugins that were loaded, or failed to load.
#[derive(Default)]
pub struct PluginRegistry {
    pub(super) embedded: BTreeMap<&'static str, Result<Arc<Plugin>, String>>,
    /// The settings that they were loaded with.
    load_settings: BTreeMap<&'static str, LoadSettings>,
    pub(super) slots: BTreeMap<PluginFile, RegistryEntry>,
    /// What the configuration of MCP servers lacks, for the log.
    pub(super) notes: Vec<String>,
    /// Whether a file is still being written to.
    pub is_unfinished: bool,
}

/// The state of one plugin file.
#[derive(Default)]
pub(super) struct RegistryEntry {
    fingerprint: Option<FileFingerprint>,
    /// The settings and the digest that it was loaded with.
    load_settings: Option<LoadSettings>,
    digest: String,
    /// What was known of signatures when it was looked at.
    gate: Option<SignatureGate>,
    /// The outcome for the current file.
    pub(super) latest: Option<LoadOutcome>,
    /// The version in the latest set.
    pub(super) serving: Option<Arc<Plugin>>,
}

/// Settings that loading depends on. Grants are not among them: they are looked up at each use.
#[derive(Clone, PartialEq)]
struct LoadSettings {
    limits: Limits,
    on_fault: OnFault,
    config: serde_json::Map<String, serde_json::Value>,
    /// Names that it may not claim.
    reserved: Vec<&'static str>,
    /// What the configuration supplies an embedded guest with.
    supplied: Option<(Vec<ToolSpec>, Grants)>,
}

pub(super) enum LoadOutcome {
    Plugin(Arc<Plugin>),
    /// Why there is none.
    Failed(String),
    /// A workspace's file that is not trusted: its digest.
    Untrusted(String),
}

/// A workspace's file that does not run, because the user has not trusted its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The name that it would have.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
}

impl PluginRegistry {
    /// The embedded guests that are not switched off, each as the configuration has it.
    pub(super) async fn load_embedded(&mut self, with: &LoadContext<'_>) {
        for embedded in &EMBEDDED {
            let mut settings = with.config.plugin(embedded.name);
            let is_needed = embedded.name != MCP_GUEST || with.config.mcp_servers().next().is_some();
            if !settings.enabled || !is_needed {
                self.embedded.remove(embedded.name);
                if embedded.name == MCP_GUEST {
                    self.notes.clear();
                }
                continue;
            }
            let mut supplied = None;
            if embedded.name == MCP_GUEST {
                let supply = McpSupply::new(with.config);
                settings.config.extend(supply.config);
                supplied = Some((supply.tools, supply.grants));
                self.notes = supply.notes;
            }
            let load_settings = LoadSettings::for_embedded(with, embedded.name, &settings, supplied);
            if self.embedded.contains_key(embedded.name)
                && self.load_settings.get(embedded.name) == Some(&load_settings)
            {
                continue;
            }
            let (tools, grants) = load_settings.supplied.clone().unzip();
            let candidate = Candidate {
                name: embedded.name,
                source: Source::Embedded,
                file: None,
                component: Component::Embedded(embedded),
                reserved: Vec::new(),
                limits: load_settings.limits,
                settings: &settings,
                grants: grants.unwrap_or_default(),
                tools,
            };
            let loaded = load(with, candidate).await;
            self.embedded.insert(embedded.name, loaded.map_err(|error| format!("{error:#}")));
            self.load_settings.insert(embedded.name, load_settings);
        }
    }

    /// The embedded guests as another configuration has them.
    ///
    /// # Errors
    ///
    /// One of them does not load with it. Then they are as they were.
    pub async fn renew_embedded(&mut self, with: &LoadContext<'_>) -> Result<()> {
        let before = (self.embedded.clone(), self.load_settings.clone());
        self.load_embedded(with).await;
        let broken = self.embedded.iter().find_map(|(name, made)| Some((*name, made.as_ref().err()?.clone())));
        if let Some((name, reason)) = broken {
            (self.embedded, self.load_settings) = before;
            bail!("the embedded plugin `{name}` did not load: {reason}");
        }
        Ok(())
    }

    /// Reads these files, and loads what has changed. With `waits` a file that may still be being written stays as it
    /// was, and [`Self::is_unfinished`] says so.
    pub(super) async fn refresh(&mut self, with: &LoadContext<'_>, files: &[PluginFile], waits: bool) {
        self.is_unfinished = false;
        let gate = SignatureGate::read(with.config, waits);
        self.slots.retain(|found, _| files.contains(found));
        for found in files {
            let entry = self.slots.entry(found.clone()).or_default();
            match entry.refresh(with, &gate, found, waits).await {
                Ok(true) => {}
                Ok(false) => self.is_unfinished = true,
                Err(error) => entry.latest = Some(LoadOutcome::Failed(format!("{error:#}"))),
            }
        }
    }
}

impl RegistryEntry {
    /// `false`: the file may still be being written.
    async fn refresh(
        &mut self,
        with: &LoadContext<'_>,
        gate: &SignatureGate,
        found: &PluginFile,
        waits: bool,
    ) -> Result<bool> {
        let named = check_name(&found.name).map_err(|error| anyhow::anyhow!("{error}; rename the file"));
        if let Err(error) = named.and_then(|()| check_taken(with, found)) {
            // Not the file is wrong but its name: no version of it serves, and it is looked at when the name is free.
            *self = Self::default();
            return Err(error);
        }
        // A plugin that is no longer trusted does not replace another.
        let is_trusted = |plugin: &mut Arc<Plugin>| {
            let is_known = plugin.source != Source::Workspace || with.grants.trusted(&plugin.digest).is_some();
            is_known && gate.still_admits(&plugin.name, &plugin.digest)
        };
        self.serving = self.serving.take_if(is_trusted);
        let fingerprint = FileFingerprint::read(&found.path);
        let is_same_gate = self.gate.as_ref() == Some(gate);
        if fingerprint.is_some() && fingerprint == self.fingerprint && is_same_gate && self.is_as_it_was(with, found) {
            return Ok(true);
        }
        self.fingerprint = None;
        let (bytes, fingerprint) = match read_component(&found.path, waits)? {
            ReadOutcome::Whole(bytes, fingerprint) => (bytes, fingerprint),
            ReadOutcome::Unfinished => return Ok(false),
        };
        self.fingerprint = Some(fingerprint);
        self.gate = Some(gate.clone());
        let digest = digest(&bytes);
        let settings = match found.source {
            Source::Workspace => match with.grants.trusted(&digest) {
                Some(trusted) => trusted.settings(),
                None => {
                    self.serving = None;
                    self.latest = Some(LoadOutcome::Untrusted(digest));
                    return Ok(true);
                }
            },
            _ => with.config.plugin(&found.name),
        };
        gate.admit(&found.name, &digest, &bytes)?;
        let load_settings = Some(LoadSettings::for_file(with, found, &settings));
        if let Some(LoadOutcome::Plugin(plugin)) = &self.latest
            && plugin.digest == digest
            && self.load_settings == load_settings
        {
            return Ok(true);
        }
        self.load_settings = load_settings;
        self.digest.clone_from(&digest);
        let candidate = Candidate::for_file(with, found, (bytes.into(), digest), &settings);
        self.latest = Some(LoadOutcome::Plugin(load(with, candidate).await?));
        Ok(true)
    }

    /// Whether what the user says of the bytes is what it was when they were looked at.
    fn is_as_it_was(&self, with: &LoadContext<'_>, found: &PluginFile) -> bool {
        let settings = match (&self.latest, found.source) {
            (Some(LoadOutcome::Untrusted(digest)), _) => return with.grants.trusted(digest).is_none(),
            (_, Source::Workspace) => with.grants.trusted(&self.digest).map(bub_config::Trusted::settings),
            _ => Some(with.config.plugin(&found.name)),
        };
        let now = settings.map(|settings| LoadSettings::for_file(with, found, &settings));
        now.is_some() && now == self.load_settings
    }
}

impl LoadSettings {
    fn for_embedded(
        with: &LoadContext<'_>,
        name: &str,
        settings: &bub_config::Plugin,
        supplied: Option<(Vec<ToolSpec>, Grants)>,
    ) -> Self {
        let (on_fault, config) = (settings.on_fault, settings.config.clone());
        Self { limits: with.config.limits_of(name), on_fault, config, reserved: Vec::new(), supplied }
    }

    fn for_file(with: &LoadContext<'_>, found: &PluginFile, settings: &bub_config::Plugin) -> Self {
        let limits = match found.source {
            Source::Workspace => with.config.limits_with(settings),
            _ => with.config.limits_of(&found.name),
        };
        let reserved = EMBEDDED.iter().map(|guest| guest.name).filter(|name| with.config.plugin(name).enabled);
        let (on_fault, config) = (settings.on_fault, settings.config.clone());
        Self { limits, on_fault, config, reserved: reserved.collect(), supplied: None }
    }
}

/// Settings for the user's own plugin of a name must not apply to a stranger's.
fn check_taken(with: &LoadContext<'_>, found: &PluginFile) -> Result<()> {
    let name = &found.name;
    if is_embedded(name) && (found.source == Source::Workspace || with.config.plugin(name).enabled) {
        let or = match found.source {
            Source::Workspace => "rename the file".to_owned(),
            _ => {
                format!("set `enabled = false` in `[plugins.{name}]` to use the file in its place, or rename the file")
            }
        };
        bail!("the name is taken by an embedded plugin; {or}");
    }
    if found.source == Source::Workspace && with.grants.speaks_of(name) {
        bail!("the name is taken by `[plugins.{name}]` of config.toml; rename the file");
    }
    Ok(())
}

impl<'a> Candidate<'a> {
    /// These bytes with their digest, as the file that they stand in, or are to stand in.
    fn for_file(
        with: &LoadContext<'_>,
        found: &'a PluginFile,
        (bytes, digest): (Cow<'a, [u8]>, String),
        settings: &'a bub_config::Plugin,
    ) -> Self {
        let LoadSettings { limits, reserved, .. } = LoadSettings::for_file(with, found, settings);
        Self {
            name: &found.name,
            source: found.source,
            file: Some(found.path.clone()),
            component: Component::File(bytes, digest),
            reserved,
            limits,
            settings,
            grants: Grants::default(),
            tools: None,
        }
    }
}

/// Loads these bytes as the user's plugin of that name, without adding it to the set.
///
/// # Errors
///
/// Why they would not load.
pub async fn probe(with: &LoadContext<'_>, name: &str, bytes: &[u8]) -> Result<Arc<Plugin>> {
    check_name(name)?;
    let path = user_dir(with.config).join(format!("{name}.wasm"));
    let found = PluginFile { source: Source::User, name: name.to_owned(), path };
    check_taken(with, &found)?;
    let settings = with.config.plugin(name);
    load(with, Candidate::for_file(with, &found, (bytes.into(), digest(bytes)), &settings)).await
}
