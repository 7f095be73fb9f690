//! `tape gc`.

use super::super::text::{self, WIDTH};
use super::tape_location::TapeLocation;
use anyhow::{Context, Result};
use bub_config::{Config, TapeStorage};
use bub_runtime::host::{Compacted, compact_memories, garbage};
use bub_tape::{Garbage, empty_trash};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How long to wait for a tape that a turn holds: it is collected another time.
const LOCK_WAIT: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Empty the trash too, also entries discarded less than a day ago
    #[arg(long)]
    now: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let mut found = garbage(&config, arguments.dry_run)?;
    if arguments.now && config.tapes.storage == TapeStorage::Files {
        let trash = empty_trash(&config.tapes_dir(), arguments.dry_run).context("the trash cannot be looked at")?;
        // Expired trash is among the leftovers, and is still there in a dry run.
        let known: Vec<_> = found.iter().map(|leftover| leftover.path.clone()).collect();
        let trash = trash.into_iter().filter(|(path, _)| !known.contains(path));
        found.extend(trash.map(|(path, bytes)| Garbage { path, bytes, why: "was thrown away" }));
    }
    let compacted = compact(config, workspace, arguments.dry_run).await?;
    let bytes: u64 = found.iter().map(|leftover| leftover.bytes).sum();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let files = found.iter().map(
            |Garbage { path, bytes, why }| json!({ "path": path.display().to_string(), "bytes": bytes, "why": why }),
        );
        let all = json!({ "files": files.collect::<Vec<_>>(), "bytes": bytes, "memory_entries": compacted.entries, "dry_run": arguments.dry_run });
        writeln!(out, "{all:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    for Garbage { path, why, .. } in &found {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text::fold(&format!("{name} {why}"), WIDTH).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    let files = text::count(found.len() as u64, "file", "files");
    let would = if arguments.dry_run { "would be" } else { "were" };
    writeln!(out, "{files} of {} {would} removed", text::bytes(bytes))?;
    if compacted.entries > 0 {
        let entries = text::count(compacted.entries, "entry", "entries");
        let tapes = text::count(compacted.tapes, "tape", "tapes");
        writeln!(out, "{entries} of old versions of the memory {would} erased from {tapes}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Compacts memories. A tape that a turn holds is skipped.
async fn compact(mut config: Config, workspace: &Path, dry: bool) -> Result<Compacted> {
    let days = config.tapes.memory_history_days;
    config.tapes.journal.lock_wait = config.tapes.journal.lock_wait.min(LOCK_WAIT);
    match TapeLocation::open(config, workspace).await?.tapes() {
        Some(tapes) => compact_memories(tapes, days, dry).await,
        None => Ok(Compacted::default()),
    }
}
