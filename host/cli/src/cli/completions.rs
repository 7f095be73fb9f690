//! `completions` and `man`: shell completions and manual pages, generated from the command line's definition.

use super::Arguments as Program;
use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Name of the program in scripts and manual pages.
const NAME: &str = "bub-wasm";

#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell to generate the script for
    shell: Shell,
}

#[derive(clap::Args)]
pub(super) struct Man {
    /// The directory to write to; it is created if it is missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Prints a completion script. Neither a home nor a configuration is needed.
pub(super) fn completions(arguments: &Completions) -> Result<ExitCode> {
    let mut script = Vec::new();
    // Into memory first: clap panics if a write fails.
    clap_complete::generate(arguments.shell, &mut visible(&Program::command()), NAME, &mut script);
    if arguments.shell == Shell::Bash {
        // clap_complete 4.6 writes a hyphenated name in two ways, and then finds no subcommand:
        // https://github.com/clap-rs/clap/issues/6421
        script = String::from_utf8(script)?.replace("bub__subcmd__wasm", "bub__wasm").into_bytes();
    }
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for the program and for each of its commands.
pub(super) fn man(arguments: &Man) -> Result<ExitCode> {
    let dir = &arguments.dir;
    let wrong = || format!("the manual pages cannot be written to `{}`", dir.display());
    fs::create_dir_all(dir).with_context(wrong)?;
    clap_mangen::generate_to(visible(&Program::command()), dir).with_context(wrong)?;
    Ok(ExitCode::SUCCESS)
}

/// The command line without hidden commands, which some generators include.
pub(super) fn visible(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned();
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .about(command.get_about().cloned().unwrap_or_default())
        .after_help(command.get_after_help().cloned().unwrap_or_default())
        .args(command.get_arguments().cloned())
        .subcommands(shown)
}
