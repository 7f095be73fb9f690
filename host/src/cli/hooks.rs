//! `hooks`: which plugin answers which hook.

use crate::channel::Printer;
use crate::config::Config;
use crate::hooks::{HOOKS, HookSpec, Way};
use crate::host::Host;
use crate::plugin::{CALLED_BY_NAME, Plugin};
use crate::turn::Calls;
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
    let calls = Calls::new(&host);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", as_json(&calls))?;
    } else {
        write!(out, "{}", as_text(&calls))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The plugins of a hook in the order in which they run.
fn plugins<'a>(hook: &HookSpec, calls: &'a Calls, is_asked: bool) -> Vec<&'a str> {
    let implementing = calls.plugins.exporting(hook.name);
    // Tools and commands are called by their names: whoever has them answers.
    let may = |plugin: &Plugin| CALLED_BY_NAME.contains(&hook.name) || calls.may_answer(plugin, hook.name);
    let mut names: Vec<&str> =
        implementing.filter(|plugin| may(plugin) == is_asked).map(|plugin| plugin.name.as_str()).collect();
    if hook.name == "system-prompt" {
        names.reverse();
    }
    names
}

fn as_json(calls: &Calls) -> serde_json::Value {
    let hooks: Vec<_> = HOOKS
        .iter()
        .map(|hook| {
            json!({
                "hook": hook.name,
                "way": hook.way.name(),
                "power": hook.power,
                "plugins": plugins(hook, calls, true),
                "not_granted": plugins(hook, calls, false),
            })
        })
        .collect();
    let failed: Vec<_> =
        calls.plugins.failed.iter().map(|(plugin, reason)| json!({ "plugin": plugin, "reason": reason })).collect();
    json!({ "hooks": hooks, "failed": failed })
}

fn as_text(calls: &Calls) -> String {
    let mut text = String::new();
    for hook in HOOKS {
        let names = plugins(hook, calls, true);
        if !names.is_empty() {
            let arrow = if hook.way == Way::FirstResult { " > " } else { ", " };
            text.push_str(&format!("{:<21} {:<12} {}\n", hook.name, hook.way.name(), names.join(arrow)));
        }
    }
    for (plugin, reason) in &calls.plugins.failed {
        text.push_str(&format!("plugin `{plugin}` did not load: {reason}\n"));
    }
    text
}
