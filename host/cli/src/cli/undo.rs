//! `undo`: shows what a turn has changed in the workspace, and puts it back.

mod view;

use super::style::Style;
use super::tape::TapeLocation;
use super::text;
use anyhow::{Context, Result, bail, ensure};
use bub_config::Config;
use bub_undo::{Origin, Outcome, Record, Step, Undo};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

pub(super) use bub_undo::view::{exceptions, outcome};
pub(super) use view::{difference, question};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Number of the turn, as `--list` shows it [default: the latest that is not undone]
    turn: Option<u64>,
    /// List the turns that can be undone
    #[arg(long, conflicts_with_all = ["turn", "diff", "yes", "force"])]
    list: bool,
    /// Show what the turn has changed, and change nothing
    #[arg(long, conflicts_with_all = ["yes", "force"])]
    diff: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Put files back that have changed again since
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let workspace =
        workspace.canonicalize().with_context(|| format!("there is no workspace `{}`", workspace.display()))?;
    let undo = open(&config, &workspace)?;
    if arguments.list {
        return list(&undo, arguments.json);
    }
    let record = find(&undo, arguments.turn)?;
    let mut out = std::io::stdout().lock();
    if arguments.json && arguments.diff {
        writeln!(out, "{}", text::json(&view::to_json(&record)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.json {
        for line in difference(&undo, &record, Style::for_stdout()) {
            writeln!(out, "{line}")?;
        }
    }
    if arguments.diff {
        return Ok(ExitCode::SUCCESS);
    }
    drop(out);
    let plan = undo.plan(&record, arguments.force);
    if !arguments.yes && !confirm(&plan)? {
        writeln!(std::io::stderr(), "nothing is changed")?;
        return Ok(ExitCode::FAILURE);
    }
    let (steps, undone) = undo.undo(&record, arguments.force)?;
    let location = TapeLocation::open(config, &workspace).await?;
    note(&location, &record, undone.as_ref(), &steps).await?;
    let mut out = std::io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", text::json(&view::outcome_json(&record, undone.as_ref(), &steps)))?,
        false => outcome(undone.as_ref(), &steps).iter().try_for_each(|line| writeln!(out, "{line}"))?,
    }
    let is_complete = !steps.iter().any(|step| matches!(step.outcome, Outcome::Skipped(_)));
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The snapshots of a workspace, those of turns that were cut off included.
///
/// # Errors
///
/// They are switched off, or cannot be read.
pub(super) fn open(config: &Config, workspace: &Path) -> Result<Undo> {
    let undo = bub_runtime::turn::undo(config, workspace)
        .context("nothing is kept to be undone, since `enabled` of `[undo]` is `false`")?;
    undo.recover_interrupted()?;
    Ok(undo)
}

/// The record with that number, or the latest turn that is not undone.
///
/// # Errors
///
/// There is none.
pub(super) fn find(undo: &Undo, number: Option<u64>) -> Result<Record> {
    if let Some(number) = number {
        return undo.record(number).with_context(|| "`bub-wasm undo --list` shows those that there are".to_owned());
    }
    let records = undo.records();
    let is_open = |record: &Record| record.undone_by.is_none() && record.label.origin == Origin::Turn;
    records.into_iter().find(is_open).context("no turn has changed files of this workspace that could be put back")
}

/// Records on the session's tape that its turn was undone.
///
/// # Errors
///
/// The tape cannot be written.
pub(super) async fn note(
    location: &TapeLocation,
    record: &Record,
    undone: Option<&Record>,
    steps: &[Step],
) -> Result<()> {
    let data = bub_runtime::turn::undone_event(record, undone, steps);
    let tape = location.tape_name(&record.label.session);
    // Only a tape that is there is told; one of a session that keeps none is not made.
    if let Some(tapes) = location.tapes()
        && location.names().await?.contains(&tape)
    {
        let event = bub_tape::event("turn.undone", &data.to_string())?.with_meta("context", "false")?;
        tapes.append_event(&tape, event).await?;
    }
    Ok(())
}

fn list(undo: &Undo, as_json: bool) -> Result<ExitCode> {
    let records = undo.records();
    let mut out = std::io::stdout().lock();
    if as_json {
        let rows: Vec<_> = records.iter().map(view::to_json).collect();
        writeln!(out, "{}", text::json(&json!({ "turns": rows })))?;
        return Ok(ExitCode::SUCCESS);
    }
    if records.is_empty() {
        writeln!(std::io::stderr(), "no turn has changed files of this workspace")?;
    }
    records.iter().try_for_each(|record| writeln!(out, "{}", bub_undo::view::row(record)))?;
    Ok(ExitCode::SUCCESS)
}

fn confirm(plan: &[Step]) -> Result<bool> {
    for line in exceptions(plan) {
        writeln!(std::io::stderr(), "{line}")?;
    }
    let count = plan.iter().filter(|step| !matches!(step.outcome, Outcome::Skipped(_))).count();
    ensure!(count > 0, "nothing of it can be put back");
    let what = text::count(count as u64, "file", "files");
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!("there is no terminal to ask whether {what} are to be put back: give `--yes`");
    }
    let answer = super::prompt::ask(&view::question(count))?;
    Ok(answer.is_some_and(|answer| super::prompt::is_yes(&answer)))
}
