//! `tape handoff` and `tape reset`.

use super::super::text;
use super::tape_arg::{ResolvedTape, TapeArg};
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_recordings::Store;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::turn::{Preview, Requester};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Handoff {
    /// Name of the anchor
    name: String,
    #[command(flatten)]
    tape_arg: TapeArg,
    /// State that the next phase begins with, in JSON
    #[arg(long, value_name = "JSON")]
    state: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(super) struct Reset {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Keep the entries in an archive beside the tape (the default)
    #[arg(long, conflicts_with = "discard")]
    archive: bool,
    /// Discard the entries; as files they stay in `trash` for a day
    #[arg(long)]
    discard: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn handoff(arguments: &Handoff, config: Config, workspace: &Path) -> Result<ExitCode> {
    // Invalid input is reported first: a turn that fails after its first entry counts as interrupted.
    check(arguments)?;
    let found = arguments.tape_arg.find(config, workspace).await?;
    found.require_own()?;
    let name = found.tape.name();
    let tapes = found.location.tapes().context("there are no tapes yet")?;
    // The handoff waits for the running turn, so that no phase starts within it.
    let (id, recovered) = tapes.handoff(name, &arguments.name, arguments.state.as_deref(), Vec::new()).await?;
    if let Some(recovered) = recovered {
        let entries = text::count(recovered.entries as u64, "entry", "entries");
        writeln!(std::io::stderr(), "an interrupted turn was recovered first, with {entries}")?;
    }
    let mut out = std::io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", json!({ "tape": name, "anchor": arguments.name, "id": id }))?,
        false => writeln!(out, "anchor `{}` is entry {id} of tape `{name}`", text::line(&arguments.name))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &Handoff) -> Result<()> {
    if let Some(state) = &arguments.state {
        bub_tape::json::normalise(state)
            .context("`--state` takes JSON, as in '{\"done\": \"half\"}' or '\"a text\"'")?;
    }
    bub_tape::handoff(&arguments.name, None)?;
    Ok(())
}

pub(super) async fn reset(arguments: &Reset, config: Config, workspace: &Path) -> Result<ExitCode> {
    let (home, recordings) = (config.home.clone(), Store::new(config.recordings_dir()));
    let found = arguments.tape_arg.find(config, workspace).await?;
    found.require_own()?;
    let name = found.tape.name();
    if !arguments.yes && !confirm(arguments, &found).await? {
        bail!("tape `{name}` stays as it is");
    }
    let archive = match arguments.discard {
        true => found.tape.reset(false).await?,
        false => archive(&found, &home, workspace).await?,
    };
    recordings.note_erasure()?;
    recordings.remove_folder(bub_tape::family(name));
    let archive = archive.map(|archive| match &found.location.dir {
        Some(dir) => dir.join(archive).display().to_string(),
        None => archive,
    });
    let mut out = std::io::stdout().lock();
    match (arguments.json, archive) {
        (true, archive) => writeln!(out, "{}", json!({ "tape": name, "archive": archive }))?,
        (false, Some(archive)) => writeln!(out, "tape `{name}` is empty\nits entries are in `{archive}`")?,
        (false, None) => {
            writeln!(out, "tape `{name}` is empty")?;
            if arguments.discard && found.location.dir.is_some() {
                writeln!(out, "its entries lie in the trash for a day; bub-wasm tape gc --now empties it")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Archives the tape, with what plugins want kept beside the archive. A host that does not start does not prevent it.
async fn archive(found: &ResolvedTape, home: &Path, workspace: &Path) -> Result<Option<String>> {
    if found.location.is_elsewhere {
        return Ok(found.tape.reset(true).await?);
    }
    let started = async { Host::start(Config::load(Some(home))?, workspace, Box::new(Printer)).await };
    let host = match started.await {
        Ok(host) => host,
        Err(error) => {
            tracing::warn!("plugins were not asked what to keep beside the archive: {error:#}");
            return Ok(found.tape.reset(true).await?);
        }
    };
    let tape = found.tape.name();
    let session_id = found.session.as_deref().unwrap_or(tape);
    let store = Arc::clone(host.tapes().store());
    let requester = Requester::at_terminal();
    let preview = Preview { store, tape, session_id, prompt: None, selector: None, requester };
    let archived = preview.archive(&host, &found.tape).await;
    host.close().await;
    Ok(archived?)
}

/// Asks for confirmation.
async fn confirm(arguments: &Reset, found: &ResolvedTape) -> Result<bool> {
    let name = found.tape.name();
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!("there is no terminal to ask whether tape `{name}` is to be emptied: give `--yes`");
    }
    let entries = text::count(found.tape.last_id().await?, "entry", "entries");
    let fate = if arguments.discard { "throw away" } else { "archive" };
    let mut terminal = std::io::stderr();
    write!(terminal, "{fate} {entries} of tape `{name}`? [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
