//! `NAME ARG...`: a command that a plugin brings.

use super::run::on_signal;
use crate::channel::Printer;
use crate::config::Config;
use crate::error::Failure;
use crate::hooks;
use crate::host::Host;
use crate::turn::Calls;
use crate::wording;
use anyhow::Result;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// What a shell calls a command that was not understood.
const USAGE: u8 = 2;

/// The first of `words` is the command's name.
pub(super) async fn run(words: &[String], config: Config, workspace: &Path) -> Result<ExitCode> {
    let (name, arguments) = words.split_first().map_or(("", words), |(name, rest)| (name.as_str(), rest));
    let host = Host::start(config, workspace, Box::new(Printer::default())).await?;
    let mut cancel = on_signal()?;
    let calls = Calls::new(&host);
    let outcome = tokio::select! {
        biased;
        _ = cancel.wait_for(|cancelled| *cancelled) => Err(Failure::Cancelled),
        outcome = hooks::run_command(&calls, name, arguments) => outcome,
    };
    host.close().await;
    match outcome? {
        Some(said) => {
            print(&said)?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            writeln!(std::io::stderr(), "error: {}", unknown(&calls, name))?;
            Ok(ExitCode::from(USAGE))
        }
    }
}

fn unknown(calls: &Calls, name: &str) -> String {
    let own = super::Arguments::command();
    let own = own.get_subcommands().map(clap::Command::get_name);
    let of_plugins = calls.plugins.iter().flat_map(|plugin| &plugin.commands).map(|command| command.name.as_str());
    let hint = crate::nearest::hint(name, own.chain(of_plugins));
    let name: String = name.chars().take(100).flat_map(char::escape_debug).collect();
    format!(
        "there is no command `{name}`{hint}; `bub-wasm --help` and `bub-wasm plugin list` show those that there are"
    )
}

/// Ends with a line's end, and is empty where there was nothing to say.
fn print(said: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = wording::shown(said);
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}
