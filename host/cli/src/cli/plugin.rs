//! `plugin`: lists, grants, installs, checks and removes plugins.

mod add;
mod audit;
pub(super) mod check;
mod dev;
mod fetch;
mod fixtures;
mod gate;
mod grant_prompt;
mod grants;
mod incoming;
mod install;
mod key;
mod mend;
mod new;
mod pending_plugins;
mod project;
mod publish;
mod record;
mod registry;
mod remove;
mod report;
mod rollback;
mod search;
mod share;
mod show;
mod test;
mod trust;
mod upgrade;

use super::text;
use crate::cli::progress;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::host::{Host, introspection};
use bub_runtime::plugin::{Plugin, PluginSet, plugin_lock};
use bub_runtime::plugin_sharing::SharedChange;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) use audit::files as installed_files;
pub(super) use grant_prompt::GrantOptions;
pub(super) use key::KeyOptions;
pub(super) use pending_plugins::PendingPlugins;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Loaded(LoadedCommand),
    /// Make the project of a new plugin, with all that it needs to be built, tested and added
    New(new::Arguments),
    /// Build, load and check a plugin whenever its sources change, and show each call into it
    Dev(dev::Arguments),
    /// Install a component as a plugin: show what it requests, and ask which grants to give
    Add(add::Arguments),
    /// Find plugins in a registry
    Search(search::Arguments),
    /// List plugins from registries that have a newer version
    Outdated,
    /// Install newer versions of plugins from registries, with the grants that they held
    Upgrade(upgrade::Arguments),
    /// Compare installed plugins with plugins.lock and with a file of advisories, and quarantine what is listed
    Audit(audit::Arguments),
    /// Build, test, sign and push the project of a plugin to a registry
    Publish(publish::Arguments),
    /// Make a key that signs plugins
    Key(key::NewKey),
    /// Sign a component file, for those who add it as a file
    Sign(key::Sign),
    /// Test a plugin in a sandbox with sample turns, and report violations of its contract
    Check(check::Arguments),
    /// Build the project of a plugin, run its tests, check the component and make recorded calls again
    Test(test::Arguments),
    /// Run turns, and keep the calls of a plugin in them as files for `test`
    Record(record::Arguments),
    /// Remove a plugin and its grants; `rollback` restores both
    Remove {
        /// The plugin's name
        name: String,
    },
    /// Restore the previous version of a plugin, with its grants of then
    Rollback {
        /// The plugin's name
        name: String,
    },
    /// Trust a plugin of a workspace: these bytes may run in any workspace
    Trust(trust::Arguments),
    /// Store a plugin with its settings for all workers on the database of the tapes, as it is here
    Share {
        /// The plugin's name
        name: String,
    },
}

impl Command {
    /// Whether it changes plugins, so that other workers have to learn of it.
    fn changes_plugins(&self) -> bool {
        match self {
            Self::Add(_) | Self::Upgrade(_) | Self::Remove { .. } | Self::Rollback { .. } | Self::Share { .. } => true,
            Self::Trust(arguments) => arguments.changes(),
            Self::Loaded(LoadedCommand::Grant { .. } | LoadedCommand::Revoke { .. }) => true,
            _ => false,
        }
    }

    /// The plugin that it names, which is stored for all workers whether it changed or not.
    fn named(&self) -> Option<String> {
        match self {
            Self::Upgrade(arguments) => arguments.name().map(str::to_owned),
            Self::Remove { name }
            | Self::Rollback { name }
            | Self::Share { name }
            | Self::Loaded(LoadedCommand::Grant { name, .. } | LoadedCommand::Revoke { name, .. }) => {
                Some(name.clone())
            }
            _ => None,
        }
    }
}

// Commands that need the loaded plugins. A doc comment would become the help of `plugin`.
#[derive(clap::Subcommand)]
enum LoadedCommand {
    /// List plugins with their origin, hooks and grants
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one plugin: version, digest, hooks, tools, commands, requested and held grants
    Inspect {
        /// The plugin's name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a plugin grants; they hold for its current bytes
    Grant {
        /// The plugin's name
        name: String,
        /// Grants, as in `hook:build-prompt` or `tape:read`; without any, all that the plugin requests
        grants: Vec<String>,
        /// Let the grants hold for any bytes under this name, for plugins that you build yourself
        #[arg(long)]
        follow: bool,
    },
    /// Revoke grants of a plugin; a running turn notices at its next call
    Revoke {
        /// The plugin's name
        name: String,
        /// Grants to revoke; without any, all
        grants: Vec<String>,
    },
    /// End a plugin's quarantine now, without waiting for its pause to end
    #[command(alias = "release")]
    Unquarantine {
        /// Name of the plugin, or the digest of its bytes
        name: String,
    },
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    if !arguments.command.changes_plugins() {
        return execute(arguments.command, config, workspace).await;
    }
    let (config, change) = SharedChange::begin(config).await?;
    let (home, file, named) = (config.home.clone(), config.file(), arguments.command.named());
    let outcome = execute(arguments.command, config, workspace).await;
    if outcome.is_ok() {
        plugin_lock::note_grants(&home, &file)?;
    }
    let Some(change) = change else { return outcome };
    // Also behind an error: what was done before it is active here.
    let named = named.filter(|_| outcome.is_ok());
    let stored = change.end(&home, named.as_deref()).await;
    for line in stored.as_deref().unwrap_or_default() {
        writeln!(std::io::stdout(), "{line}")?;
    }
    outcome.and_then(|code| stored.map(|_| code))
}

async fn execute(command: Command, config: Config, workspace: &Path) -> Result<ExitCode> {
    match command {
        // Needs no plugins, and no home.
        Command::New(arguments) => new::run(arguments),
        Command::Dev(arguments) => dev::run(arguments, config, workspace).await,
        Command::Add(arguments) => add::run(arguments, config, workspace).await,
        Command::Search(arguments) => search::run(arguments, config).await,
        Command::Outdated => upgrade::outdated(config).await,
        Command::Upgrade(arguments) => upgrade::run(arguments, config, workspace).await,
        Command::Audit(arguments) => audit::run(arguments, &config),
        Command::Publish(arguments) => publish::run(arguments, config).await,
        Command::Key(arguments) => key::new(arguments),
        Command::Sign(arguments) => key::sign(arguments),
        Command::Check(arguments) => check::run(arguments, config, workspace).await,
        Command::Test(arguments) => test::run(arguments, config).await,
        Command::Record(arguments) => record::run(arguments, config, workspace).await,
        Command::Remove { name } => remove::run(&name, config, workspace).await,
        Command::Rollback { name } => rollback::run(&name, config, workspace).await,
        // Loads nothing: only the digest of a file is read.
        Command::Trust(arguments) => trust::run(&arguments, &config),
        Command::Share { name } => share::run(&name, &config),
        Command::Loaded(command) => {
            let host = match command {
                // Compiling reveals the errors of a plugin that no turn has called.
                LoadedCommand::List { .. } => progress::start(config, workspace, Box::new(Printer)).await?,
                _ => Host::start(config, workspace, Box::new(Printer)).await?,
            };
            run_loaded(command, &host).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn run_loaded(command: LoadedCommand, host: &Host) -> Result<()> {
    let plugins = host.plugins();
    let mut out = std::io::stdout().lock();
    match command {
        LoadedCommand::List { json: true } => writeln!(out, "{}", text::json(&introspection::plugins(host, &plugins)))?,
        LoadedCommand::List { json: false } => show::list(&mut out, host, &plugins)?,
        LoadedCommand::Inspect { name, json } => {
            let plugin = find(&plugins, &name)?;
            match json {
                true => writeln!(out, "{}", text::json(&introspection::plugin(host, plugin)))?,
                false => show::inspect(&mut out, host, plugin)?,
            }
        }
        LoadedCommand::Grant { name, grants, follow } => {
            grants::grant(&mut out, host, find(&plugins, &name)?, &grants, follow)?;
        }
        LoadedCommand::Revoke { name, grants } => grants::revoke(&mut out, host, find(&plugins, &name)?, &grants)?,
        LoadedCommand::Unquarantine { name } => match host.lift_quarantine(&name).await? {
            0 => {
                let held: Vec<String> = host.quarantined().into_iter().map(|held| held.plugin).collect();
                let hint = bub_types::suggest::hint(&name, held.iter().map(String::as_str));
                bail!("plugin `{name}` is not in quarantine{hint}");
            }
            _ => writeln!(out, "plugin `{name}` is no longer in quarantine")?,
        },
    }
    Ok(())
}

fn find<'a>(plugins: &'a PluginSet, name: &str) -> Result<&'a Arc<Plugin>> {
    if let Some((_, reason)) = plugins.failed.iter().find(|(failed, _)| failed == name) {
        bail!("plugin `{name}` did not load: {reason}");
    }
    let found = plugins.iter().find(|plugin| plugin.name == name);
    found.with_context(|| {
        let hint = bub_types::suggest::hint(name, plugins.iter().map(|plugin| plugin.name.as_str()));
        format!("there is no plugin `{name}`{hint}")
    })
}
