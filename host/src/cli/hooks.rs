//! `hooks`: which plugin answers which hook.

use crate::channel::Printer;
use crate::config::Config;
use crate::hooks::{HOOKS, Way};
use crate::host::{Host, told};
use crate::turn::Calls;
use anyhow::Result;
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
        writeln!(out, "{:#}", told::hooks(&calls))?;
    } else {
        write!(out, "{}", as_text(&calls))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(calls: &Calls) -> String {
    let mut text = String::new();
    for hook in HOOKS {
        let names = told::plugins_of(hook, calls, true);
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
