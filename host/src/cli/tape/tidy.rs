//! `tape gc`.

use super::super::text::{self, WIDTH};
use crate::config::Config;
use crate::host::leftovers;
use crate::tape::Leftover;
use anyhow::Result;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let found = leftovers(config, arguments.dry_run)?;
    let bytes: u64 = found.iter().map(|leftover| leftover.bytes).sum();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let files = found.iter().map(
            |Leftover { path, bytes, why }| json!({ "path": path.display().to_string(), "bytes": bytes, "why": why }),
        );
        let all = json!({ "files": files.collect::<Vec<_>>(), "bytes": bytes, "dry_run": arguments.dry_run });
        writeln!(out, "{all:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    for Leftover { path, why, .. } in &found {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text::fold(&format!("{name} {why}"), WIDTH).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    let files = text::count(found.len() as u64, "file", "files");
    let would = if arguments.dry_run { "would be" } else { "were" };
    writeln!(out, "{files} of {} {would} removed", text::bytes(bytes))?;
    Ok(ExitCode::SUCCESS)
}
