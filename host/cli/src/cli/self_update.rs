//! `self`: newer programs.

mod index;
mod update;

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
    /// Replace the program by a newer one, after its signature was verified and its `doctor` has run
    Update(update::Arguments),
    /// Write a signed index over the archives of a folder, for those who publish the program
    Index(index::Arguments),
}

pub(super) async fn run(arguments: Arguments, config: &Config, workspace: &Path) -> Result<ExitCode> {
    match arguments.command {
        Command::Update(arguments) => update::run(&arguments, config, workspace).await,
        Command::Index(arguments) => index::run(&arguments),
    }
}
