//! `hooks`: the plugins of each hook.

use super::progress;
use anyhow::Result;
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::hooks::{ActiveSelector, active_selector};
use bub_runtime::host::introspection;
use bub_runtime::turn::{CallScope, SelectorChoice};
use bub_tape::tape_name;
use bub_types::hook::{DispatchMode, HOOKS};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    // The command also shows plugins that do not load.
    let host = progress::start(config, workspace, Box::new(Printer)).await?;
    let calls = CallScope::new(&host);
    // The session of the terminal. If it cannot be read, hooks are shown without its selection.
    let tape = host.tapes().open(&tape_name(&host.workspace, TERMINAL))?;
    let choice = match SelectorChoice::of_session(&host.config, CHANNEL, &tape).await {
        Ok(choice) => choice,
        Err(error) => {
            tracing::warn!("what session `{TERMINAL}` has chosen cannot be read: {error}");
            SelectorChoice::configured(&host.config, CHANNEL)
        }
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", introspection::hooks(&calls, choice.as_ref()))?;
    } else {
        write!(out, "{}", as_text(&calls, choice.as_ref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The channel of the terminal, and its default session.
const CHANNEL: &str = "cli";
const TERMINAL: &str = "cli:local";

fn as_text(calls: &CallScope, choice: Option<&SelectorChoice>) -> String {
    let mut text = String::new();
    for hook in HOOKS {
        let names = introspection::plugins_of(hook.hook, calls, true);
        if !names.is_empty() {
            let arrow = if hook.way == DispatchMode::FirstResult { " > " } else { ", " };
            text.push_str(&format!("{:<21} {:<12} {}\n", hook.name, hook.way.name(), names.join(arrow)));
        }
    }
    let ActiveSelector { name, why } = active_selector(calls, choice);
    text.push_str(&format!("\nactive selector: {name} ({why})\n"));
    for channel in calls.host.config.channels_with_selector().filter(|channel| *channel != CHANNEL) {
        let ActiveSelector { name, why } =
            active_selector(calls, SelectorChoice::configured(&calls.host.config, channel).as_ref());
        text.push_str(&format!("on channel {channel}: {name} ({why})\n"));
    }
    for (plugin, reason) in &calls.plugins.failed {
        text.push_str(&format!("plugin `{plugin}` did not load: {reason}\n"));
    }
    text
}
