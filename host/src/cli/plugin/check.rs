//! `plugin check`: a plugin is tried in a sandbox against sample turns, and what breaks its contract is told, with what to do
//! about it. Or a call that broke once is made again.

mod channel;
mod finding;
mod repro;
mod samples;
mod sandbox;

use super::grants;
use crate::channel::Printer;
use crate::cli::progress;
use crate::cli::{log, text};
use crate::config::{self, Config};
use crate::grants::{hook_grant, shell_word};
use crate::host::Host;
use crate::plugin::{self, CALLED_BY_NAME, Count, LOAD, Plugin, Source, one_line, quarantine};
use crate::turn::Calls;
use anyhow::{Context, Result};
use finding::{Finding, Findings};
use sandbox::{Sandbox, Subject};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The plugin: its name, or a component file
    #[arg(value_name = "NAME|FILE", required_unless_present = "repro")]
    plugin: Option<String>,
    /// Make the call again that broke; with a FILE, in that build of the plugin
    #[arg(long, value_name = "DIR")]
    repro: Option<PathBuf>,
    /// Give the plugin this grant too; without, nothing that reaches outside of the sandbox
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The plugin, before the sandbox is there.
struct Tried {
    plugin: Arc<Plugin>,
    /// None for an embedded guest.
    bytes: Option<Vec<u8>>,
    /// What the user has configured for it.
    settings: config::Plugin,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { plugin: name, repro, grant, json } = arguments;
    grants::check_form(&grant)?;
    if let Some(dir) = &repro {
        return repro::run(dir, name.as_deref(), &grant, json, &config).await;
    }
    let host = progress::start(config, workspace, Box::new(Printer::default())).await?;
    let Tried { plugin, bytes, settings } = find(&host, &name.unwrap_or_default()).await?;
    let wanted = plugin.wanted();
    let mut grants = sandbox::inside(wanted.iter().map(String::as_str), plugin.provider.as_deref());
    grants.extend(grant);
    let subject = Subject {
        name: &plugin.name,
        bytes: bytes.as_deref(),
        settings,
        grants,
        provider: plugin.provider.as_deref(),
        selects: plugin.implements("selector"),
        is_alone: false,
    };
    // What the sandbox's host would say is of quarantines and files that are about to be gone.
    let hush = log::hush();
    let sandbox = Sandbox::start(&host.config, subject).await?;
    let findings = try_all(&sandbox).await?;
    drop(hush);
    let kept = quarantine::adopt(&sandbox.evidence(), &host.config.home);
    let mut counts = sandbox.host.meter.of(&plugin.name);
    // Whoever loads it has to ask.
    counts.remove(LOAD);
    sandbox.host.close().await;
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", text::json(&as_json(&plugin, &findings, &counts, &kept)))?,
        false => tell(&mut out, &plugin, &findings, &counts, &kept)?,
    }
    Ok(if findings.is_broken() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn find(host: &Arc<Host>, name: &str) -> Result<Tried> {
    // What looks like a path is one; a name never does.
    if name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "wasm") {
        let shown = one_line(name);
        let bytes = plugin::bytes_of(Path::new(name)).with_context(|| format!("`{shown}`"))?;
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let plugin = host.probe(&stem, &bytes).await.with_context(|| format!("`{shown}` does not load"))?;
        return Ok(Tried { plugin, bytes: Some(bytes), settings: host.config.plugin(&stem) });
    }
    let plugins = host.plugins();
    let plugin = super::find(&plugins, name)?.clone();
    let bytes = match &plugin.file {
        Some(file) => Some(plugin::bytes_of(file).with_context(|| format!("`{}`", file.display()))?),
        None => None,
    };
    let settings = match plugin.source {
        Source::Workspace => host.ledger.trusted(&plugin.digest).unwrap_or_default().settings(),
        Source::Embedded | Source::User => host.config.plugin(name),
    };
    Ok(Tried { plugin, bytes, settings })
}

/// Runs everything there is to run, and looks after each what broke.
async fn try_all(sandbox: &Sandbox) -> Result<Findings> {
    let plugin = &sandbox.plugin;
    let counts = || sandbox.host.meter.of(&plugin.name);
    let mut findings = Findings::default();
    findings.read(plugin);
    for sample in samples::all(plugin) {
        let failure = sandbox.turn(sample.message).await.err().filter(|_| !sample.fails);
        findings.after(&sample.what, plugin, &counts(), failure);
        findings.on_tapes(&sample.what, sandbox).await?;
    }
    let calls = Calls::new(&sandbox.host);
    for command in &plugin.commands {
        let what = format!("its command `{}`", command.name);
        if !samples::command(&calls, &command.name).await {
            findings.goes_on(&what);
        }
        findings.after(&what, plugin, &counts(), None);
    }
    let outcome = channel::all(&calls, &plugin.name).await;
    findings.after("what a channel is asked", plugin, &counts(), None);
    findings.of_channel(outcome);
    samples::arrival(&calls).await;
    findings.after("a message that arrives while another is answered", plugin, &counts(), None);
    Ok(findings)
}

type Counts = std::collections::BTreeMap<&'static str, Count>;

fn untried(plugin: &Plugin, counts: &Counts) -> Vec<&'static str> {
    let asked = |hook: &str| match hook {
        "tools" => plugin.tools.is_empty() || counts.contains_key("call-tool"),
        "provider" => counts.contains_key("complete"),
        "commands" => counts.contains_key("run-command"),
        "manifest" => true,
        hook => counts.contains_key(hook),
    };
    // What is not wanted is told of by itself.
    let is_wanted = |hook: &&str| CALLED_BY_NAME.contains(hook) || plugin.asks_for(&hook_grant(hook));
    plugin.hooks.iter().copied().filter(is_wanted).filter(|hook| !asked(hook)).collect()
}

fn tell(out: &mut impl Write, plugin: &Plugin, findings: &Findings, counts: &Counts, kept: &[PathBuf]) -> Result<()> {
    for (hook, count) in counts {
        let each = count.took.as_secs_f64() * 1e3 / count.calls.max(1) as f64;
        let times = if count.calls == 1 { "call" } else { "calls" };
        writeln!(
            out,
            "{hook:<21} {} {times}, {each:.2} ms each, at most {} units of fuel",
            count.calls, count.most_fuel
        )?;
    }
    for hook in untried(plugin, counts) {
        writeln!(out, "{hook:<21} was not asked by any sample")?;
    }
    for Finding { place, what, fix, .. } in findings.broken() {
        writeln!(out, "broken: {place}: {what}")?;
        writeln!(out, "  fix: {fix}")?;
    }
    for path in kept {
        let path = shell_word(&path.to_string_lossy());
        writeln!(out, "the call is kept; to make it again: bub-wasm plugin check --repro {path}")?;
    }
    for Finding { place, what, fix, .. } in findings.notes() {
        writeln!(out, "note: {place}: {what}")?;
        writeln!(out, "  fix: {fix}")?;
    }
    match findings.is_broken() {
        true => writeln!(out, "plugin `{}` breaks its contract", plugin.name)?,
        false => writeln!(out, "plugin `{}` kept to its contract in all samples", plugin.name)?,
    }
    Ok(())
}

fn as_json(plugin: &Plugin, findings: &Findings, counts: &Counts, kept: &[PathBuf]) -> serde_json::Value {
    let hooks = counts.iter().map(|(hook, count)| {
        json!({
            "hook": hook, "calls": count.calls, "faults": count.faults, "most_fuel": count.most_fuel,
            "milliseconds": count.took.as_secs_f64() * 1e3, "longest_milliseconds": count.longest.as_secs_f64() * 1e3,
        })
    });
    let finding = |finding: &Finding| json!({ "where": finding.place, "what": finding.what, "fix": finding.fix });
    json!({
        "plugin": plugin.name,
        "digest": plugin.digest,
        "hooks": hooks.collect::<Vec<_>>(),
        "channel": findings.channel,
        "not_asked": untried(plugin, counts),
        "broken": findings.broken().map(finding).collect::<Vec<_>>(),
        "notes": findings.notes().map(finding).collect::<Vec<_>>(),
        "reproducers": kept,
    })
}
