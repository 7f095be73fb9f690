//! The command line: one file a command.

mod acp;
mod approval;
mod audit;
mod backup;
mod blame;
mod chat;
mod command;
mod completions;
mod denied;
mod doctor;
mod forget_person;
mod home;
mod hooks;
mod log;
mod mcp;
mod open;
mod plugin;
mod progress;
mod prompt;
mod question;
mod reference;
mod replay;
mod run;
mod secret;
mod self_update;
mod serve;
mod sessions;
mod store;
mod tape;
mod telemetry;
mod terminal_mode;
mod trust;
mod undo;
mod usage;
mod watchdog;
mod why;

pub use chat::{ChatInput, InputOutcome};
pub use prompt::ANSWER_DELAY;

use anyhow::Result;
use bub_config::Config;
use bub_runtime::plugin::{compiler, open_pagemap, recompile};
use bub_system::environment;
use bub_terminal::{diff, style, text};
use bub_types::text::one_line;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::runtime::Builder;

/// An agent runtime whose every part is a sandboxed WebAssembly component
#[derive(Parser)]
#[command(
    name = "bub-wasm",
    version,
    arg_required_else_help = true,
    after_help = "Plugins bring further commands: `bub-wasm plugin list` names them, and `bub-wasm NAME ARG...` runs one."
)]
struct Arguments {
    /// Directory of the configuration, plugins and tapes [default: $BUB_HOME, else ~/.bub]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Format of the log on stderr
    #[arg(long, global = true, value_enum, default_value_t)]
    log_format: log::Format,
    /// Directory that the agent works on [default: the current directory]
    #[arg(short, long, global = true, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
// The arguments of the other commands would be a tenth of the start of `run`.
#[command(defer = true)]
enum Command {
    /// Run one turn and print its answer
    Run(run::Arguments),
    /// Talk to the agent, turn after turn
    Chat(chat::Arguments),
    /// List and rename the sessions of this workspace
    Sessions(sessions::Arguments),
    /// Serve channels and the HTTP API until a signal ends it
    Serve(serve::Arguments),
    /// Print a link that logs a browser in to the page of a running `serve`
    Open(open::Arguments),
    /// Show which plugins implement each hook, in the order in which they are called
    Hooks(hooks::Arguments),
    /// Check the installation, and suggest a fix for each problem
    Doctor(doctor::Arguments),
    /// Install, inspect, grant and remove plugins
    Plugin(plugin::Arguments),
    /// Use servers of the Model Context Protocol, or be one
    Mcp(mcp::Arguments),
    /// Be the agent of an editor, over the Agent Client Protocol on standard input and output
    Acp(acp::Arguments),
    /// Store secrets that plugins can name and never see
    Secret(secret::Arguments),
    /// Read, search, fork, reset, export and verify tapes
    Tape(tape::Arguments),
    /// Verify, sign and export the evidence of what sessions have held and done
    Audit(audit::Arguments),
    /// Show, migrate and copy stores of tapes
    Store(store::Arguments),
    /// Show who wrote which part of a model request: plugins, entries of the tape, the configuration, the host
    Blame(blame::Arguments),
    /// Explain why a tool call was allowed, asked about or denied
    Why(why::Arguments),
    /// Show the tokens that model calls used, by model, session and day
    Usage(usage::Arguments),
    /// Trust the files of this workspace as your own words
    Trust(trust::Arguments),
    /// Show what a turn has changed in this workspace, and put it back
    Undo(undo::Arguments),
    /// Write the home to a file, check that file, and put it back
    Backup(backup::Arguments),
    /// Export and erase what one sender has said, in all sessions and files of the home
    ForgetPerson(forget_person::Arguments),
    /// Show the version of the home, and take it back for an older program
    Home(home::Arguments),
    /// Update the program
    #[command(name = "self")]
    SelfUpdate(self_update::Arguments),
    /// Make the calls of recorded turns again, with nothing reaching outside, and compare the results
    Replay(replay::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Write manual pages, one for each command
    Man(completions::Man),
    /// Write the reference pages of the book
    #[command(hide = true)]
    Reference(reference::Arguments),
    /// Compile a component, within bounds
    #[command(name = compiler::COMMAND, hide = true)]
    CompilePlugin(compiler::Arguments),
    /// Compile for speed what `run` compiled quickly
    #[command(name = recompile::COMMAND, hide = true)]
    CompileGuests(recompile::Arguments),
    /// A command of a plugin, and its arguments
    #[command(external_subcommand)]
    OfPlugin(Vec<String>),
}

/// Runs the command that the process was started with. 0: it worked, 1: it failed, 2: it was not understood.
pub fn main() -> ExitCode {
    // This one has a process of its own that becomes another program, with the environment as it is.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == bub_sandbox::launcher::COMMAND) {
        return bub_sandbox::launcher::main(words);
    }
    bub_sandbox::launcher::keep_descriptors();
    // Before anything else: no other thread runs yet, and no key was read.
    open_pagemap();
    environment::seal();
    let arguments = Arguments::parse();
    match execute(arguments) {
        Ok(code) => code,
        // The reader of the output has closed it.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // The message may quote untrusted text.
            let _ = writeln!(std::io::stderr(), "error: {}", one_line(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::CompilePlugin(arguments) => return Ok(compiler::run(arguments)),
        Command::CompileGuests(arguments) => return Ok(recompile::run(arguments)),
        Command::Completions(arguments) => return completions::completions(arguments),
        Command::Man(arguments) => return completions::man(arguments),
        _ => {}
    }
    let has_page = matches!(arguments.command, Command::Serve(_));
    log::start(bub_config::verbosity(arguments.home.as_deref()), arguments.log_format, has_page);
    let config = Config::load(arguments.home.as_deref())?;
    let workspace = arguments.workspace.unwrap_or_else(|| PathBuf::from("."));
    let mut runtime = match arguments.command {
        // One turn waits more than it computes: a thread for each processor would cost its start more than it gives.
        Command::Run(_) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.enable_all().build()?;
    // The commands in which turns run, of which telemetry tells.
    let is_turns =
        matches!(arguments.command, Command::Run(_) | Command::Chat(_) | Command::Serve(_) | Command::OfPlugin(_))
            || matches!(&arguments.command, Command::Mcp(arguments) if arguments.is_serve());
    let outcome = runtime.block_on(async {
        let config = match &arguments.command {
            Command::Run(_)
            | Command::Chat(_)
            | Command::Serve(_)
            | Command::Mcp(_)
            | Command::Acp(_)
            | Command::OfPlugin(_) => bub_runtime::plugin_sharing::pull_at_start(config).await?,
            _ => config,
        };
        if is_turns {
            telemetry::start(&config);
        }
        match arguments.command {
            Command::Run(arguments) => run::run(arguments, config, &workspace).await,
            Command::Chat(arguments) => chat::run(arguments, config, &workspace).await,
            Command::Sessions(arguments) => sessions::run(&arguments, config, &workspace).await,
            Command::Serve(arguments) => serve::run(arguments, config, &workspace).await,
            Command::Open(arguments) => open::run(&arguments, &config),
            Command::Hooks(arguments) => hooks::run(&arguments, config, &workspace).await,
            Command::Doctor(arguments) => doctor::run(&arguments, config, &workspace).await,
            Command::Plugin(arguments) => plugin::run(arguments, config, &workspace).await,
            Command::Mcp(arguments) => mcp::run(arguments, config, &workspace).await,
            Command::Acp(arguments) => acp::run(arguments, config, &workspace).await,
            Command::Secret(arguments) => secret::run(&arguments, &config.home),
            Command::Tape(arguments) => tape::run(arguments, config, &workspace).await,
            Command::Audit(arguments) => audit::run(arguments, config, &workspace).await,
            Command::Store(arguments) => store::run(arguments, &config).await,
            Command::Blame(arguments) => blame::run(arguments, config, &workspace).await,
            Command::Why(arguments) => why::run(&arguments, config, &workspace).await,
            Command::Usage(arguments) => usage::run(&arguments, &config).await,
            Command::Trust(arguments) => trust::run(&arguments, &config, &workspace),
            Command::Undo(arguments) => undo::run(&arguments, config, &workspace).await,
            Command::Backup(arguments) => backup::run(&arguments, &config).await,
            Command::ForgetPerson(arguments) => forget_person::run(&arguments, config, &workspace).await,
            Command::Home(arguments) => home::run(&arguments, &config),
            Command::SelfUpdate(arguments) => self_update::run(arguments, &config, &workspace).await,
            Command::Replay(arguments) => replay::run(&arguments, config, &workspace).await,
            Command::CompilePlugin(arguments) => Ok(compiler::run(&arguments)),
            Command::CompileGuests(arguments) => Ok(recompile::run(&arguments)),
            Command::Completions(arguments) => completions::completions(&arguments),
            Command::Man(arguments) => completions::man(&arguments),
            Command::Reference(arguments) => reference::run(&arguments, &config),
            Command::OfPlugin(words) => command::run(&words, config, &workspace).await,
        }
    });
    telemetry::finish();
    // Abandoned work, such as a blocked read, must not delay the exit.
    runtime.shutdown_background();
    // The process may exit before the runtime's tasks have ended their programs.
    bub_system::process::kill_all();
    outcome
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
