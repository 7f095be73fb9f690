//! `tape`: look at what was said and done in a session, and the few things that may be done to it.

mod anchors;
mod change;
mod compare;
mod context;
mod copy;
mod erase;
mod export;
mod info;
mod list;
mod named;
mod outline;
mod place;
mod progress;
mod search;
mod show;
mod tidy;
mod verify;

pub(super) use place::Place;

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
    /// Show all tapes; those of this workspace have a star. Entries are counted by the last id
    List(list::Arguments),
    /// Show the entries of a tape, dates in UTC
    Show(show::Arguments),
    /// Show what a tape amounts to: counts, token usage, and what is not well with it
    Info(info::Arguments),
    /// Show the newest anchors
    Anchors(anchors::Arguments),
    /// Find entries by their words; typing errors are forgiven where too little is found
    Search(search::Arguments),
    /// Show the chat messages that the next turn would begin with. No model is asked and nothing is written
    Context(context::Arguments),
    /// Begin a new phase: write an anchor, behind which the model starts afresh with the anchor's state
    Handoff(change::Handoff),
    /// Copy a tape, with its sidecars, to a new one
    Fork(copy::Arguments),
    /// Empty a tape and its sidecars
    Reset(change::Reset),
    /// Take entries out of a tape for good; a receipt says which, and not what they said
    Erase(erase::Arguments),
    /// Write a tape in another form
    Export(export::Arguments),
    /// Look for what crashes and other programs may have done to a tape. Exit code 1 when there is something
    Verify(verify::Arguments),
    /// Remove what is left over and nobody needs
    Gc(tidy::Arguments),
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
        Command::Gc(arguments) => tidy::run(&arguments, config, workspace).await,
    }
}
