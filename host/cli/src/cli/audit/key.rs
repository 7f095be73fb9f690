//! `audit key`.

use anyhow::{Context, Result};
use bub_audit::AuditFolder;
use bub_config::Config;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show the public keys, the one that signs now last
    Show,
    /// Replace the key; the old one signs the new one
    Rotate,
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let folder = AuditFolder::new(config.audit_dir());
    let failed = || format!("the key in `{}` cannot be used", folder.path().display());
    match arguments.command {
        Some(Command::Rotate) => folder.rotate().map(drop).with_context(failed)?,
        Some(Command::Show) | None => folder.current().map(drop).with_context(failed)?,
    }
    let keys = folder.keys().with_context(failed)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let faults: Vec<String> = keys.faults.iter().map(ToString::to_string).collect();
        writeln!(out, "{:#}", json!({ "keys": keys.keys, "faults": faults }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for key in &keys.keys {
        writeln!(out, "{}  ed25519 {}  since {}", key.id, key.public, key.from)?;
    }
    for fault in &keys.faults {
        writeln!(out, "tampered: {fault}")?;
    }
    Ok(ExitCode::SUCCESS)
}
