//! `NAME ARG...`: runs a command that a plugin provides.

use super::run::on_signal;
use anyhow::Result;
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::host::Host;
use bub_runtime::turn::CallScope;
use bub_types::text;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The exit code of a usage error.
const USAGE: u8 = 2;

/// The first of `words` is the command's name.
pub(super) async fn run(words: &[String], config: Config, workspace: &Path) -> Result<ExitCode> {
    let (name, arguments) = words.split_first().map_or(("", words), |(name, rest)| (name.as_str(), rest));
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let mut cancel = on_signal()?;
    let calls = CallScope::new(&host);
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

/// Commands of Bub with another name here.
const BUB_COMMANDS: [(&str, &str); 6] = [
    ("gateway", "`bub-wasm serve` serves channels and the API; `enabled_channels` of `[serve]` says which"),
    ("install", "`bub-wasm plugin add FILE|URL` installs a plugin, which is a WebAssembly component"),
    ("uninstall", "`bub-wasm plugin remove NAME` removes a plugin"),
    (
        "update",
        "`bub-wasm plugin add FILE|URL` replaces a plugin by another version, and `plugin rollback` takes that back",
    ),
    (
        "onboard",
        "settings are in config.toml and .env: `bub-wasm doctor` says what is missing, `doctor --config` shows all keys",
    ),
    ("login", "`bub-wasm secret set openai --host api.openai.com` keeps a key; there is no login by a browser"),
];

fn unknown(calls: &CallScope, name: &str) -> String {
    if let Some((_, counterpart)) = BUB_COMMANDS.iter().find(|(known, _)| *known == name) {
        return format!("there is no command `{name}` here: {counterpart}");
    }
    let own = super::Arguments::command();
    let own = own.get_subcommands().map(clap::Command::get_name);
    let of_plugins = calls.plugins.iter().flat_map(|plugin| &plugin.commands).map(|command| command.name.as_str());
    let hint = bub_types::suggest::hint(name, own.chain(of_plugins));
    let name = text::escaped(name, 100);
    format!(
        "there is no command `{name}`{hint}; `bub-wasm --help` and `bub-wasm plugin list` show those that there are"
    )
}

/// Prints text with a final newline; prints nothing for empty text.
fn print(said: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = text::shown(said);
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}
