//! `mcp`: the Model Context Protocol.

mod serve;

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
    /// Serve tools, turns and tapes to an MCP client on standard input and output
    Serve(serve::Arguments),
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    match arguments.command {
        Command::Serve(arguments) => serve::run(arguments, config, workspace).await,
    }
}
