//! `plugin`: what is loaded, what it wants, what it may do; and how plugins come, are tried, and go.

mod add;
mod arrival;
mod check;
mod consent;
mod fetch;
mod gate;
mod grants;
mod kept;
mod remove;
mod report;
mod rollback;
mod show;
mod trust;

use super::text;
use crate::cli::progress;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::host::{Host, introspection};
use bub_runtime::plugin::{Plugin, PluginSet};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) use arrival::Arrivals;
pub(super) use consent::Consent;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(flatten)]
    OfLoaded(OfLoaded),
    /// Take a component as a plugin: show what it is and asks for, and ask what it is given
    Add(add::Arguments),
    /// Try a plugin in a sandbox against sample turns, and tell what breaks its contract
    Check(check::Arguments),
    /// Take a plugin away, with what it was granted; `rollback` brings both back
    Remove {
        /// The plugin's name
        name: String,
    },
    /// Put the version before in the place of the one that is there, with what it was granted then
    Rollback {
        /// The plugin's name
        name: String,
    },
    /// Let a plugin that a workspace brings along run: these bytes, in whichever workspace they lie
    Trust(trust::Arguments),
}

/// What is about the plugins as they are loaded.
#[derive(clap::Subcommand)]
enum OfLoaded {
    /// Show all plugins: where they come from, what they answer, what they may do
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one plugin: version, digest, hooks, tools, commands, what it wants and what it has
    Inspect {
        /// The plugin's name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a plugin grants; they hold for the bytes that it has now
    Grant {
        /// The plugin's name
        name: String,
        /// The grants, as in `hook:build-prompt` or `tape:read`; none: all that it wants
        grants: Vec<String>,
        /// Let the grants hold for whatever bytes come under this name: for what you build yourself
        #[arg(long)]
        follow: bool,
    },
    /// Take grants away; a turn that runs notices at its next call
    Revoke {
        /// The plugin's name
        name: String,
        /// The grants; none: all
        grants: Vec<String>,
    },
    /// Ask a plugin again that kept breaking, without waiting for the end of its pause
    Release {
        /// The plugin's name, or the digest of its bytes
        name: String,
    },
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    match arguments.command {
        Command::Add(arguments) => add::run(arguments, config, workspace).await,
        Command::Check(arguments) => check::run(arguments, config, workspace).await,
        Command::Remove { name } => remove::run(&name, config, workspace).await,
        Command::Rollback { name } => rollback::run(&name, config, workspace).await,
        // Nothing is loaded for it: a file is read for its digest, and no more.
        Command::Trust(arguments) => trust::run(&arguments, &config),
        Command::OfLoaded(command) => {
            let host = progress::start(config, workspace, Box::new(Printer::default())).await?;
            of_loaded(command, &host)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn of_loaded(command: OfLoaded, host: &Host) -> Result<()> {
    let plugins = host.plugins();
    let mut out = std::io::stdout().lock();
    match command {
        OfLoaded::List { json: true } => writeln!(out, "{}", text::json(&introspection::plugins(host, &plugins)))?,
        OfLoaded::List { json: false } => show::list(&mut out, host, &plugins)?,
        OfLoaded::Inspect { name, json } => {
            let plugin = find(&plugins, &name)?;
            match json {
                true => writeln!(out, "{}", text::json(&introspection::plugin(host, plugin)))?,
                false => show::inspect(&mut out, host, plugin)?,
            }
        }
        OfLoaded::Grant { name, grants, follow } => {
            grants::grant(&mut out, host, find(&plugins, &name)?, grants, follow)?;
        }
        OfLoaded::Revoke { name, grants } => grants::revoke(&mut out, host, find(&plugins, &name)?, &grants)?,
        OfLoaded::Release { name } => match host.release(&name)? {
            0 => {
                let held: Vec<String> = host.quarantined().into_iter().map(|held| held.plugin).collect();
                let hint = bub_types::suggest::hint(&name, held.iter().map(String::as_str));
                bail!("plugin `{name}` is not in quarantine{hint}");
            }
            _ => writeln!(out, "plugin `{name}` is asked again")?,
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
