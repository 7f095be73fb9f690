//! `plugin outdated` and `plugin upgrade`: newer versions of plugins from registries.

use super::grant_prompt::GrantOptions;
use super::install::{Earlier, Installed, install};
use super::registry;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_registry::{Lock, Locked, Reference, SCHEME, is_newer, newest};
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin::PluginFiles;
use bub_types::text::one_line;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The plugin's name [default: all that came from a registry]
    name: Option<String>,
    /// Give a new version the grants of the version before, and no others
    #[arg(long, conflicts_with_all = ["yes", "grant"])]
    keep_grants: bool,
    /// Follow a change of the signer: the id of the new key, the new identity, the name of either, or `none`
    #[arg(long, value_name = "SIGNER")]
    accept_signer: Option<String>,
    #[command(flatten)]
    grant_options: GrantOptions,
}

impl Arguments {
    /// The plugin that it names.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// What a registry has of an installed plugin.
struct Status {
    /// The installed version, where it came from.
    reference: Reference,
    /// A newer version.
    newer: Option<String>,
    /// Whether the installed version has another content by now.
    is_retagged: bool,
}

/// Prints which plugins have a newer version; the exit code is 1 if one has, or a registry cannot be asked.
pub(super) async fn outdated(config: Config) -> Result<ExitCode> {
    let lock = Lock::read(&config.home)?;
    let mut out = std::io::stdout();
    let mut is_current = true;
    for (name, locked) in from_registries(&lock) {
        let version = locked.version.as_deref().unwrap_or_default();
        match status(&config, locked).await {
            Ok(Status { newer: Some(newer), .. }) => {
                writeln!(out, "{name} {version} -> {newer}; to install it: bub-wasm plugin upgrade {name}")?;
                is_current = false;
            }
            Ok(Status { is_retagged: true, .. }) => {
                writeln!(out, "{name} {version} has another content in its registry by now")?;
                is_current = false;
            }
            Ok(_) => writeln!(out, "{name} {version} is the newest version")?,
            Err(error) => {
                writeln!(out, "{name} {version}: {}", one_line(&format!("{error:#}")))?;
                is_current = false;
            }
        }
    }
    if from_registries(&lock).next().is_none() {
        writeln!(out, "no plugin came from a registry")?;
    }
    Ok(if is_current { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Installs newer versions; one that cannot be installed leaves the others alone.
pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { name, keep_grants, accept_signer, grant_options } = arguments;
    let choice = grant_options.parse()?;
    let earlier = if keep_grants { Earlier::KeptAlone } else { Earlier::Kept };
    let lock = Lock::read(&config.home)?;
    let plugins: Vec<(&str, &Locked)> = match &name {
        Some(name) => vec![find(&config, &lock, name)?],
        None => from_registries(&lock).collect(),
    };
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let config = &host.config;
    let mut out = std::io::stdout();
    let mut failed = Vec::new();
    for (name, locked) in &plugins {
        let outcome = async {
            let Status { reference, newer, .. } = status(config, locked).await?;
            let Some(newer) = newer else {
                let version = locked.version.as_deref().unwrap_or_default();
                writeln!(out, "plugin `{name}` is the newest version, {}", one_line(version))?;
                return Ok(Installed::Yes);
            };
            let incoming = registry::fetch(config, &reference.at(&newer), name).await?;
            let signer = incoming.verify(config, accept_signer.as_deref())?;
            install(&mut out, &host, &incoming, signer.as_ref(), &choice, earlier).await
        };
        match outcome.await {
            Ok(Installed::Yes) => {}
            Ok(Installed::No) => failed.push((*name, None)),
            Err(error) => failed.push((*name, Some(error))),
        }
    }
    if plugins.is_empty() {
        writeln!(out, "no plugin came from a registry")?;
    }
    // One plugin's error is the command's.
    if let [(_, Some(_))] = failed.as_slice()
        && name.is_some()
        && let Some((_, Some(error))) = failed.pop()
    {
        return Err(error);
    }
    for (name, error) in &failed {
        if let Some(error) = error {
            writeln!(out, "plugin `{name}` stays as it is: {}", one_line(&format!("{error:#}")))?;
        }
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn from_registries(lock: &Lock) -> impl Iterator<Item = (&str, &Locked)> {
    lock.installed().filter(|(_, locked)| locked.source.starts_with(SCHEME))
}

/// The entry of a plugin that came from a registry.
fn find<'a>(config: &Config, lock: &'a Lock, name: &str) -> Result<(&'a str, &'a Locked)> {
    if let Some(found) = from_registries(lock).find(|(known, _)| *known == name) {
        return Ok(found);
    }
    if lock.installed().any(|(known, _)| known == name)
        || PluginFiles::new(config, name).is_ok_and(|files| files.exists())
    {
        bail!("plugin `{name}` did not come from a registry; to replace it: bub-wasm plugin add FILE --name {name}");
    }
    let hint = bub_types::suggest::hint(name, from_registries(lock).map(|(name, _)| name));
    bail!("there is no plugin `{}` from a registry{hint}", one_line(name))
}

async fn status(config: &Config, locked: &Locked) -> Result<Status> {
    let reference = Reference::parse(&locked.source, None)?;
    let version = reference.version.clone().or_else(|| locked.version.clone());
    let version = version.context("plugins.lock has no version of it")?;
    let registry = registry::open(config, &reference.repository.host).await?;
    let tags = registry.tags(&reference.repository.path).await?;
    let newer = newest(tags.iter().map(String::as_str)).filter(|newest| is_newer(newest, &version)).map(str::to_owned);
    let mut is_retagged = false;
    if newer.is_none() && reference.digest.is_none() && tags.contains(&version) {
        let digest = registry.digest(&reference).await?.to_string();
        is_retagged = locked.manifest.as_ref().is_some_and(|known| *known != digest);
    }
    Ok(Status { reference, newer, is_retagged })
}
