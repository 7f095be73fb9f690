//! `home`: the version of the home.

use anyhow::Result;
use bub_config::{Config, HOME_VERSION, home_version};
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Take the home back by one version, for an older program; this one brings it forward again when it writes to it
    Downgrade,
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let home = config.home.display();
    match arguments.command {
        None => {
            let version = home_version(&config.home)?;
            writeln!(out, "`{home}` has version {version}; this program writes version {HOME_VERSION}")?;
        }
        Some(Command::Downgrade) => {
            let version = bub_config::downgrade(&config.home)?;
            writeln!(out, "`{home}` has version {version} now")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
