//! The command line: one file a command.

mod approval;
mod chat;
mod command;
mod denied;
mod diff;
mod doctor;
mod hooks;
mod log;
mod paint;
mod plugin;
mod progress;
mod prompt;
mod question;
mod run;
mod secret;
mod serve;
mod sessions;
mod tape;
mod terminal_mode;
mod text;
mod trust;
mod usage;
mod watchdog;

pub use chat::{ChatInput, InputOutcome};
pub use prompt::ANSWER_DELAY;

use anyhow::Result;
use bub_config::Config;
use bub_runtime::plugin::{compiler, open_pagemap};
use bub_system::environment;
use bub_types::text::one_line;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// An agent runtime whose every part is a sandboxed WebAssembly component
#[derive(Parser)]
#[command(
    name = "bub-wasm",
    version,
    arg_required_else_help = true,
    after_help = "Plugins bring further commands: `bub-wasm plugin list` names them, and `bub-wasm NAME ARG...` runs one."
)]
struct Arguments {
    /// Where plugins, tapes and the configuration are kept [default: $BUB_HOME, else ~/.bub]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// How the log is written, to stderr
    #[arg(long, global = true, value_enum, default_value_t)]
    log_format: log::Format,
    /// The directory that the agent works on [default: the current one]
    #[arg(short, long, global = true, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one turn and print its answer
    Run(run::Arguments),
    /// Talk to the agent, turn after turn
    Chat(chat::Arguments),
    /// Show this workspace's conversations, and give them names
    Sessions(sessions::Arguments),
    /// Serve channels and the API over HTTP, until told to end
    Serve(serve::Arguments),
    /// Show which plugin answers which hook, in the order in which they are asked
    Hooks(hooks::Arguments),
    /// Look at everything, and say what to do about what is not well
    Doctor(doctor::Arguments),
    /// Show plugins, and give and take what they may do
    Plugin(plugin::Arguments),
    /// Keep keys and tokens that plugins may name and never see
    Secret(secret::Arguments),
    /// Look at tapes, and fork, empty, export and mend them
    Tape(tape::Arguments),
    /// Show what model calls have used: tokens by model, session and day
    Usage(usage::Arguments),
    /// Say that this workspace's files are as good as your own word
    Trust(trust::Arguments),
    /// Compile a component, within bounds
    #[command(name = compiler::COMMAND, hide = true)]
    CompilePlugin(compiler::Arguments),
    /// A name that is none of these, and what stands behind it
    #[command(external_subcommand)]
    OfPlugin(Vec<String>),
}

/// Runs the command that the process was started with. 0: it worked, 1: it failed, 2: it was not understood.
pub fn main() -> ExitCode {
    // Before anything else: no other thread runs yet, and no key was read.
    open_pagemap();
    environment::seal();
    let arguments = Arguments::parse();
    match execute(arguments) {
        Ok(code) => code,
        // Whoever read our output has seen enough of it.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // It may quote what a stranger wrote.
            let _ = writeln!(std::io::stderr(), "error: {}", one_line(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    if let Command::CompilePlugin(arguments) = &arguments.command {
        return Ok(compiler::run(arguments));
    }
    log::start(bub_config::verbosity(arguments.home.as_deref()), arguments.log_format);
    let config = Config::load(arguments.home.as_deref())?;
    let workspace = arguments.workspace.unwrap_or_else(|| PathBuf::from("."));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        match arguments.command {
            Command::Run(arguments) => run::run(arguments, config, &workspace).await,
            Command::Chat(arguments) => chat::run(arguments, config, &workspace).await,
            Command::Sessions(arguments) => sessions::run(&arguments, config, &workspace).await,
            Command::Serve(arguments) => serve::run(arguments, config, &workspace).await,
            Command::Hooks(arguments) => hooks::run(&arguments, config, &workspace).await,
            Command::Doctor(arguments) => doctor::run(&arguments, config, &workspace).await,
            Command::Plugin(arguments) => plugin::run(arguments, config, &workspace).await,
            Command::Secret(arguments) => secret::run(&arguments, &config.home),
            Command::Tape(arguments) => tape::run(arguments, config, &workspace).await,
            Command::Usage(arguments) => usage::run(&arguments, &config),
            Command::Trust(arguments) => trust::run(&arguments, &config, &workspace),
            Command::CompilePlugin(arguments) => Ok(compiler::run(&arguments)),
            Command::OfPlugin(words) => command::run(&words, config, &workspace).await,
        }
    });
    // What was left behind (a blocked read, a request that nobody waits for) must not hold up the exit.
    runtime.shutdown_background();
    // Its tasks may not be gone before the process is, and with them not the programs that they look after.
    bub_system::process::kill_all();
    outcome
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
