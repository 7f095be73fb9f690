//! `,diff` and `,undo`: what a turn has changed in the workspace.

use super::super::style::Style;
use super::super::tape::TapeLocation;
use super::super::{prompt, undo};
use anyhow::Result;
use bub_runtime::host::Host;
use bub_runtime::turn::UndoCommand;
use bub_types::text::one_line;
use bub_undo::Outcome;
use std::sync::Arc;

/// Carries the command out between two turns.
///
/// # Errors
///
/// The terminal was closed.
pub(super) async fn run(host: &Arc<Host>, line: &str, style: Style) -> Result<()> {
    if let Err(error) = carry_out(host, line, style).await {
        println!("{}", style.red(one_line(&format!("{error:#}"))));
    }
    Ok(())
}

async fn carry_out(host: &Arc<Host>, line: &str, style: Style) -> Result<()> {
    let Some(command) = UndoCommand::parse(line) else { return Ok(()) };
    let store = undo::open(&host.config, &host.workspace)?;
    let (UndoCommand::Diff(number) | UndoCommand::Undo(number)) = command;
    let record = undo::find(&store, number)?;
    undo::difference(&store, &record, style).iter().for_each(|line| println!("{line}"));
    if matches!(command, UndoCommand::Diff(_)) {
        return Ok(());
    }
    let plan = store.plan(&record, false);
    undo::exceptions(&plan).iter().for_each(|line| println!("{line}"));
    let count = plan.iter().filter(|step| !matches!(step.outcome, Outcome::Skipped(_))).count();
    if count == 0 {
        println!("{}", style.dim("nothing of it can be put back"));
        return Ok(());
    }
    let answer = prompt::ask(&undo::question(count))?;
    if !answer.is_some_and(|answer| prompt::is_yes(&answer)) {
        println!("{}", style.dim("nothing is changed"));
        return Ok(());
    }
    let (steps, undone) = store.undo(&record, false)?;
    undo::note(&TapeLocation::from_host(host), &record, undone.as_ref(), &steps).await?;
    undo::outcome(undone.as_ref(), &steps).iter().for_each(|line| println!("{line}"));
    Ok(())
}
