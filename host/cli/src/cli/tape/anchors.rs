//! `tape anchors`.

use super::super::style::Style;
use super::super::text;
use super::outline::rule;
use super::show::print_json;
use super::tape_arg::TapeArg;
use anyhow::Result;
use bub_config::Config;
use bub_tape::{Query, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Anchors that are shown by default.
const DEFAULT_LIMIT: usize = 20;

/// Lines of an anchor's state that are shown.
const STATE: usize = 3;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Show all anchors, not only the last 20
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    let limit = if arguments.all { None } else { Some(DEFAULT_LIMIT) };
    let query = Query { kinds: vec!["anchor".to_owned()], newest_first: true, limit, ..Query::default() };
    let mut anchors = found.tape.query(&query).await?;
    anchors.reverse();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        print_json(&mut out, found.tape.name(), "anchors", &anchors)?;
        drop(out);
        found.keep_index().await;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::for_stdout();
    for anchor in &anchors {
        writeln!(out, "{}", rule(anchor, style))?;
        let Some(state) = json::get(&anchor.payload, "state").filter(|state| *state != "null") else { continue };
        let lines = text::fold(state, text::WIDTH - 3);
        lines.iter().take(STATE).try_for_each(|line| writeln!(out, "   {line}"))?;
        if lines.len() > STATE {
            let rest = format!("... bub-wasm tape show --after {} --last 1 --full", anchor.id.saturating_sub(1));
            writeln!(out, "   {}", style.dim(rest))?;
        }
    }
    if anchors.is_empty() {
        writeln!(std::io::stderr(), "there is no anchor on tape `{}`", found.tape.name())?;
    }
    drop(out);
    found.keep_index().await;
    Ok(ExitCode::SUCCESS)
}
