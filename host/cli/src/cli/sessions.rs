//! `sessions`: lists and names conversations.

mod choose;
mod lookup;
mod records;
mod table;

pub(super) use choose::{find_by_name, recent};
pub(super) use lookup::mark;
pub(super) use records::{SessionRecord, Sessions};

use super::style::Style;
use super::tape::TapeLocation;
use super::text;
use anyhow::{Context, Result};
use bub_config::Config;
use bub_tape::name_session;
use lookup::{Filter, Session, newest};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Sessions that are shown by default.
const DEFAULT_LIMIT: usize = 20;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    /// Show the sessions of all workspaces
    #[arg(long)]
    all: bool,
    /// Show only sessions that began on this channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Number of sessions to show, newest first [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Rename a session of this workspace; an empty name removes its name
    Rename(Rename),
}

#[derive(clap::Args)]
struct Rename {
    /// Id or name of the session
    session: String,
    /// New name
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    match &arguments.command {
        Some(Command::Rename(arguments)) => rename(arguments, config, workspace).await,
        None => list(arguments, config, workspace).await,
    }
}

async fn list(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let location = TapeLocation::open(config, workspace).await?;
    let filter = Filter { all: arguments.all, channel: arguments.channel.as_deref() };
    let (sessions, further) = newest(&location, filter, arguments.limit.unwrap_or(DEFAULT_LIMIT)).await?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let rows: Vec<_> = sessions.iter().map(to_json).collect();
        writeln!(out, "{}", text::json(&json!({ "sessions": rows, "further": further })))?;
        return Ok(ExitCode::SUCCESS);
    }
    if sessions.is_empty() {
        let whose = if arguments.all { "there are no sessions" } else { "this workspace has no sessions" };
        writeln!(std::io::stderr(), "{whose}; `bub-wasm chat` begins one")?;
        return Ok(ExitCode::SUCCESS);
    }
    table::print(&mut out, &sessions, arguments.all, Style::for_stdout())?;
    if further > 0 {
        let count = sessions.len() + further;
        writeln!(std::io::stderr(), "and {further} older: `--limit {count}` looks at all of them")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn to_json(session: &Session) -> serde_json::Value {
    let (summary, mark) = (&session.about, session.about.mark.as_ref());
    json!({
        "session": session.id(),
        "name": summary.name,
        "first_words": summary.first_words,
        "workspace": mark.map(|mark| &mark.workspace),
        "here": session.is_here,
        "channel": mark.map(|mark| &mark.channel),
        "used": session.used.map(|used| used.to_string()),
        "tokens": summary.tokens,
        "entries": summary.entries,
        "tape": session.tape,
        "held_by": session.held_by.as_ref().map(|holder| holder.pid),
        "held_on": session.held_by.as_ref().and_then(|holder| holder.host.as_deref()),
    })
}

async fn rename(arguments: &Rename, config: Config, workspace: &Path) -> Result<ExitCode> {
    // An invalid name is reported first.
    name_session(&arguments.name)?;
    let location = TapeLocation::open(config, workspace).await?;
    let session = find_by_name(&location, &arguments.session).await?;
    let tapes = location.tapes().context("there are no tapes yet")?;
    // The rename waits for the running turn.
    tapes.rename(&session.tape, &arguments.name).await?;
    let (id, name) = (session.id().unwrap_or_default(), arguments.name.trim());
    let mut out = std::io::stdout().lock();
    match (arguments.json, name.is_empty()) {
        (true, _) => writeln!(out, "{}", text::json(&json!({ "session": id, "name": name })))?,
        (false, true) => writeln!(out, "session `{}` has no name any more", text::line(id))?,
        (false, false) => writeln!(out, "session `{}` is called `{}` now", text::line(id), text::line(name))?,
    }
    Ok(ExitCode::SUCCESS)
}
