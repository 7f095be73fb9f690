//! `tape`: inspects and changes tapes.

mod anchors;
mod change;
mod compare;
mod context;
mod copy;
mod erase;
mod export;
mod gc;
mod info;
mod list;
mod outline;
pub(super) mod progress;
mod search;
mod show;
mod store_archives;
mod tape_arg;
mod tape_location;
mod verify;

pub(super) use store_archives::StoreArchives;
pub(super) use tape_arg::ResolvedTape;
pub(super) use tape_location::TapeLocation;

use self::tape_arg::TapeArg;
use anyhow::Result;
use bub_config::Config;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List tapes; a star marks those of this workspace
    List(list::Arguments),
    /// Show the entries of a tape, with dates in UTC
    Show(show::Arguments),
    /// Summarize a tape: counts, token usage and problems
    Info(info::Arguments),
    /// Show the newest anchors of a tape
    Anchors(anchors::Arguments),
    /// Search entries by words, with tolerance for typos if little is found
    Search(search::Arguments),
    /// Show the context that the next turn would start with; calls no model and writes nothing
    Context(context::Arguments),
    /// Start a new phase: write an anchor, after which the context begins with the anchor's state
    Handoff(change::Handoff),
    /// Copy a tape and its sidecars to a new tape
    Fork(copy::Arguments),
    /// Empty a tape and its sidecars
    Reset(change::Reset),
    /// Erase entries of a tape for good; a receipt names them without their content
    Erase(erase::Arguments),
    /// Export a tape as JSON lines, Markdown or chat messages
    Export(export::Arguments),
    /// Check a tape for damage; the exit code is 1 if there is any
    Verify(verify::Arguments),
    /// Remove trash, leftovers of crashes and old versions of memories
    Gc(gc::Arguments),
}

/// The tape of that session, and where it is.
pub(super) async fn of_session(session: Option<&str>, config: Config, workspace: &Path) -> Result<ResolvedTape> {
    let arg = session.map_or_else(TapeArg::default, TapeArg::from_session);
    arg.find(config, workspace).await
}

/// Who wrote which part of the next request of a session.
pub(super) async fn blame(
    (session, selector, prompt): (Option<&str>, Option<String>, Option<String>),
    json: bool,
    config: Config,
    workspace: &Path,
) -> Result<ExitCode> {
    context::run(&context::Arguments::to_blame(session, selector, prompt, json), config, workspace).await
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    match arguments.command {
        Command::List(arguments) => list::run(&arguments, config, workspace).await,
        Command::Show(arguments) => show::run(&arguments, config, workspace).await,
        Command::Info(arguments) => info::run(&arguments, config, workspace).await,
        Command::Anchors(arguments) => anchors::run(&arguments, config, workspace).await,
        Command::Search(arguments) => search::run(&arguments, config, workspace).await,
        Command::Context(arguments) => context::run(&arguments, config, workspace).await,
        Command::Handoff(arguments) => change::handoff(&arguments, config, workspace).await,
        Command::Fork(arguments) => copy::run(&arguments, config, workspace).await,
        Command::Reset(arguments) => change::reset(&arguments, config, workspace).await,
        Command::Erase(arguments) => erase::run(&arguments, config, workspace).await,
        Command::Export(arguments) => export::run(&arguments, config, workspace).await,
        Command::Verify(arguments) => verify::run(&arguments, config, workspace).await,
        Command::Gc(arguments) => gc::run(&arguments, config, workspace).await,
    }
}
