//! `mcp`: servers of the Model Context Protocol whose tools the agent uses, and the agent as such a server.

mod add;
mod check;
mod import;
mod list;
mod login;
mod offer;
mod section;
mod serve;

use anyhow::{Result, ensure};
use bub_config::{Config, edit};
use bub_runtime::plugin::local_name;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add a server to config.toml, and accept the tools that it has
    Add(add::Arguments),
    /// List the servers of config.toml, and what was accepted of each
    List(list::Arguments),
    /// Remove a server from config.toml
    Remove {
        /// Name of the server
        #[arg(value_parser = section::name)]
        name: String,
    },
    /// Ask servers what they offer, and show what differs from what was accepted
    Check(check::Arguments),
    /// Add the servers of a file of another program, with `mcpServers` in JSON
    Import(import::Arguments),
    /// Log in to a server by OAuth, in a browser
    Login(login::Arguments),
    /// Remove the token of a login
    Logout {
        /// Name of the server
        #[arg(value_parser = section::name)]
        name: String,
    },
    /// Serve tools, turns and tapes to an MCP client on standard input and output
    Serve(serve::Arguments),
}

impl Arguments {
    /// Whether this process is a server, and runs turns.
    pub(super) fn is_serve(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    match arguments.command {
        Command::Add(arguments) => add::run(arguments, &config, workspace).await,
        Command::List(arguments) => list::run(&arguments, &config),
        Command::Remove { name } => remove(&name, &config),
        Command::Check(arguments) => check::run(&arguments, &config, workspace).await,
        Command::Import(arguments) => import::run(&arguments, &config),
        Command::Login(arguments) => login::run(arguments, &config, workspace).await,
        Command::Logout { name } => login::logout(&name, &config),
        Command::Serve(arguments) => serve::run(arguments, config, workspace).await,
    }
}

fn remove(name: &str, config: &Config) -> Result<ExitCode> {
    let mut was_there = false;
    edit::edit(&config.file(), |document| {
        was_there = edit::drop_mcp(document, name);
        ensure!(was_there, "{}", section::unknown(config, name));
        Ok(())
    })?;
    login::forget(name, config)?;
    match std::fs::remove_file(config.mcp_list(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!("`{}` is still there: {error}", config.mcp_list(name).display());
        }
        _ => {}
    }
    writeln!(std::io::stdout(), "server `{name}` is removed; its tools `{}*` are gone", local_name(name, ""))?;
    Ok(ExitCode::SUCCESS)
}
