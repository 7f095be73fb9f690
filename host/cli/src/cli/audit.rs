//! `audit`: verifies, signs and exports the evidence of what sessions have held.

mod export;
mod key;
mod selection;
mod sign;
mod verify;

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
    /// Verify sessions against their chains and signed heads; the exit code is 1 if any was tampered with
    Verify(verify::Arguments),
    /// Export entries, receipts, chains and signed heads
    Export(export::Arguments),
    /// Put all entries on the chain, sign its head, and send it to the witness
    Sign(sign::Arguments),
    /// Show the key that signs heads, or replace it
    Key(key::Arguments),
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    match arguments.command {
        Command::Verify(arguments) => verify::run(&arguments, config, workspace).await,
        Command::Export(arguments) => export::run(&arguments, config, workspace).await,
        Command::Sign(arguments) => sign::run(&arguments, config, workspace).await,
        Command::Key(arguments) => key::run(&arguments, &config),
    }
}
