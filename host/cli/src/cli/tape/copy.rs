//! `tape fork`.

use super::super::text;
use super::progress::Progress;
use super::tape_arg::TapeArg;
use super::tape_location::require_listed;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_tape::TapeCopy;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("target").required(true).args(["to", "copy"])))]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Session of this workspace that continues from there; it must not have a tape yet
    #[arg(long, value_name = "SESSION")]
    to: Option<String>,
    /// Name of the new tape
    #[arg(long = "as", value_name = "TAPE")]
    copy: Option<String>,
    /// Copy only entries up to this id
    #[arg(long, value_name = "ID")]
    at: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    found.require_own()?;
    let (location, name) = (&found.location, found.tape.name());
    let new = match (&arguments.to, &arguments.copy) {
        (Some(session), _) => location.tape_name(session),
        (None, Some(copy)) => copy.strip_suffix(".jsonl").unwrap_or(copy).to_owned(),
        (None, None) => bail!("say where to: `--to SESSION` or `--as TAPE`"),
    };
    require_listed(&new)?;
    let tapes = location.tapes().context("there are no tapes yet")?;
    if arguments.at == Some(0) {
        bail!("ids begin with 1");
    }
    // A tape without entries can be a file, too.
    let is_there = location.holds(&new).await?.is_some();
    // The next turn states whose tape it is.
    let copy = if is_there { None } else { tapes.copy(name, &new, arguments.at, None).await? };
    let Some(copy) = copy else { bail!("there is a tape `{new}` already") };
    let copied = copy_all(copy, &new).await?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", json!({ "tape": new, "from": name, "entries": copied, "session": arguments.to }))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "tape `{new}` has {} of `{name}`", text::count(copied, "entry", "entries"))?;
    if let Some(session) = &arguments.to {
        writeln!(out, "bub-wasm run --session '{}' MESSAGE goes on with it", text::line(session))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of entries on the tape itself.
async fn copy_all(mut copy: TapeCopy, new: &str) -> Result<u64> {
    let (mut progress, mut done) = (Progress::new("copying"), 0);
    let copied = loop {
        match copy.step().await {
            Ok(Some(page)) => {
                done += page.entries;
                progress.at(done, None);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(anyhow::Error::from(error)),
        }
    };
    match copied {
        Ok(()) => Ok(copy.finish().await?),
        Err(error) => Err(error.context(match copy.discard().await {
            Ok(()) => format!("tape `{new}` was not made"),
            Err(_) => format!("tape `{new}` is incomplete; bub-wasm tape reset {new} removes it"),
        })),
    }
}
