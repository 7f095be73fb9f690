//! `store`: shows, migrates and copies stores of tapes.

mod address;
mod copy;
mod idle;
mod migrate;
mod status;

use anyhow::Result;
use bub_config::Config;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show what a store holds, its version and pending migrations; the exit code is 1 if this program cannot use it
    Status(status::Arguments),
    /// Make or extend the tables of a store in PostgreSQL; programs that use it go on
    Migrate(migrate::Arguments),
    /// Copy all tapes, sidecars and archives to another store, and compare every entry
    Copy(copy::Arguments),
}

pub(super) async fn run(arguments: Arguments, config: &Config) -> Result<ExitCode> {
    match arguments.command {
        Command::Status(arguments) => status::run(&arguments, config).await,
        Command::Migrate(arguments) => migrate::run(&arguments, config).await,
        Command::Copy(arguments) => copy::run(&arguments, config).await,
    }
}
