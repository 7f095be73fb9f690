//! `hooks`: which plugin answers which hook.

use crate::channel::Printer;
use crate::config::Config;
use crate::hooks::{HOOKS, HookSpec, Way};
use crate::host::Host;
use crate::plugin::PluginSet;
use anyhow::Result;
use serde_json::json;
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
    let host = Host::start(config, workspace, Box::new(Printer::default())).await?;
    let plugins = host.plugins();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", as_json(&plugins))?;
    } else {
        write!(out, "{}", as_text(&plugins))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The plugins of a hook in the order in which they run.
fn plugins<'a>(hook: &HookSpec, set: &'a PluginSet) -> Vec<&'a str> {
    let mut names: Vec<&str> = set.exporting(hook.name).map(|plugin| plugin.name.as_str()).collect();
    if hook.name == "system-prompt" {
        names.reverse();
    }
    names
}

fn as_json(set: &PluginSet) -> serde_json::Value {
    let hooks: Vec<_> = HOOKS
        .iter()
        .map(|hook| json!({ "hook": hook.name, "way": hook.way.name(), "plugins": plugins(hook, set) }))
        .collect();
    let failed: Vec<_> =
        set.failed.iter().map(|(plugin, reason)| json!({ "plugin": plugin, "reason": reason })).collect();
    json!({ "hooks": hooks, "failed": failed })
}

fn as_text(set: &PluginSet) -> String {
    let mut text = String::new();
    for hook in HOOKS {
        let names = plugins(hook, set);
        if !names.is_empty() {
            let arrow = if hook.way == Way::FirstResult { " > " } else { ", " };
            text.push_str(&format!("{:<18} {:<13} {}\n", hook.name, hook.way.name(), names.join(arrow)));
        }
    }
    for (plugin, reason) in &set.failed {
        text.push_str(&format!("plugin `{plugin}` did not load: {reason}\n"));
    }
    text
}
