//! `trust`: marks a workspace's files as trusted.

use anyhow::{Context, Result};
use bub_config::{Config, edit};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Revoke the trust
    #[arg(long)]
    revoke: bool,
    /// List the trusted workspaces
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Print JSON
    #[arg(long, requires = "list")]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, config: &Config, workspace: &Path) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if arguments.list {
        match arguments.json {
            true => writeln!(out, "{:#}", serde_json::json!({ "trusted_workspaces": config.trusted_workspaces }))?,
            false => config.trusted_workspaces.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let workspace =
        workspace.canonicalize().with_context(|| format!("there is no workspace `{}`", workspace.display()))?;
    set(config, &workspace, !arguments.revoke)?;
    let trust = if arguments.revoke {
        "is no longer trusted"
    } else {
        "is trusted: the agent changes and runs things without asking once it has read its files"
    };
    writeln!(out, "`{}` {trust}", workspace.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Trusts the files of a workspace.
///
/// # Errors
///
/// The configuration cannot be written.
pub(super) fn trust(config: &Config, workspace: &Path) -> Result<()> {
    set(config, workspace, true)
}

fn set(config: &Config, workspace: &Path, is_trusted: bool) -> Result<()> {
    let mut trusted = config.trusted_workspaces.clone();
    trusted.retain(|path| path != workspace);
    if is_trusted {
        trusted.push(workspace.to_owned());
    }
    edit::edit(&config.file(), |document| {
        let paths: Vec<String> = trusted.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        edit::set_list(document.as_table_mut(), "trusted_workspaces", paths.iter().map(String::as_str));
        Ok(())
    })
}
