//! `plugin check`: a plugin is tried in a sandbox against sample turns, and what breaks its contract is told, with what to do
//! about it. Or a call that broke once is made again.

mod finding;
mod repro;
mod samples;
mod sandbox;

use crate::channel::Printer;
use crate::config::{Config, edit};
use crate::grants::{Grants, hook_grant, shell_word};
use crate::host::Host;
use crate::plugin::quarantine::{self, adopt};
use crate::plugin::{self, CALLED_BY_NAME, Count, Plugin, Source, one_line};
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
    #[arg(long, value_name = "GRANT", conflicts_with = "repro")]
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
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    if let Some(dir) = &arguments.repro {
        return repro::run(dir, arguments.plugin.as_deref(), arguments.json, &config).await;
    }
    let name = arguments.plugin.unwrap_or_default();
    let host = Host::start(config, workspace, Box::new(Printer::default())).await?;
    let Tried { plugin, bytes } = find(&host, &name).await?;
    arguments.grant.iter().try_for_each(|grant| Grants::check(grant)).map_err(|reason| {
        anyhow::anyhow!("what was to be granted is {reason}")
    })?;
    let mut grants: Vec<String> = plugin.wanted().into_iter().filter(|grant| stays_inside(grant)).collect();
    grants.extend(arguments.grant);
    let subject = Subject {
        name: &plugin.name,
        bytes: bytes.as_deref(),
        table: edit::read_plugin(&host.config.file(), &plugin.name)?,
        grants,
        provider: plugin.provider.as_deref(),
        selects: plugin.implements("selector"),
    };
    let sandbox = Sandbox::start(&host.config, subject).await?;
    let findings = try_all(&sandbox, &plugin).await?;
    let kept = adopt(&sandbox.evidence(), &host.config.home.join(quarantine::DIR));
    let counts = sandbox.host.meter.of(&plugin.name);
    let mut out = std::io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{:#}", as_json(&plugin, &findings, &counts, &kept))?,
        false => tell(&mut out, &plugin, &findings, &counts, &kept)?,
    }
    Ok(if findings.is_broken() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether a grant reaches nothing outside of the sandbox: what it does there is gone afterwards.
fn stays_inside(grant: &str) -> bool {
    ["hook:", "tape:", "usage"].iter().any(|kind| grant.starts_with(kind))
}

async fn find(host: &Arc<Host>, name: &str) -> Result<Tried> {
    let plugins = host.plugins();
    // What looks like a path is one; a name never does.
    if name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "wasm") {
        let shown = one_line(name);
        let bytes = plugin::bytes_of(Path::new(name)).with_context(|| format!("`{shown}`"))?;
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let plugin = host.probe(&stem, &bytes).await.with_context(|| format!("`{shown}` does not load"))?;
        return Ok(Tried { plugin, bytes: Some(bytes) });
    }
    let plugin = super::find(&plugins, name)?.clone();
    let bytes = match (&plugin.source, &plugin.file) {
        (Source::Embedded, _) | (_, None) => None,
        (_, Some(file)) => Some(plugin::bytes_of(file).with_context(|| format!("`{}`", file.display()))?),
    };
    Ok(Tried { plugin, bytes })
}

/// Runs everything there is to run, and looks after each what broke.
async fn try_all(sandbox: &Sandbox, plugin: &Plugin) -> Result<Findings> {
    let mut findings = Findings::default();
    findings.read(plugin);
    for sample in samples::all(plugin) {
        let session = sample.message.session_id.clone().unwrap_or_default();
        let outcome = sandbox.turn(sample.message).await;
        findings.after(&sample.what, plugin, &sandbox.host.meter.of(&plugin.name), outcome.err());
        findings.on_tape(&sample.what, plugin, sandbox, &session).await?;
    }
    samples::outside(sandbox, plugin).await;
    findings.after("its calls outside of turns", plugin, &sandbox.host.meter.of(&plugin.name), None);
    Ok(findings)
}

type Counts = std::collections::BTreeMap<&'static str, Count>;

fn untried(plugin: &Plugin, counts: &Counts) -> Vec<&'static str> {
    let asked = |hook: &str| match hook {
        "tools" => counts.contains_key("call-tool"),
        "provider" => counts.contains_key("complete"),
        "commands" => counts.contains_key("run-command"),
        "manifest" => true,
        hook => counts.contains_key(hook),
    };
    plugin.hooks.iter().copied().filter(|hook| !asked(hook)).collect()
}

fn tell(out: &mut impl Write, plugin: &Plugin, findings: &Findings, counts: &Counts, kept: &[PathBuf]) -> Result<()> {
    for (hook, count) in counts.iter().filter(|(hook, _)| **hook != "load") {
        let each = count.took.as_secs_f64() * 1e3 / count.calls.max(1) as f64;
        let times = if count.calls == 1 { "call" } else { "calls" };
        writeln!(out, "{hook:<21} {} {times}, {each:.2} ms each, at most {} units of fuel", count.calls, count.most_fuel)?;
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
        writeln!(out, "note: {place}: {what}; {fix}")?;
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
        "not_asked": untried(plugin, counts),
        "broken": findings.broken().map(finding).collect::<Vec<_>>(),
        "notes": findings.notes().map(finding).collect::<Vec<_>>(),
        "reproducers": kept,
    })
}

/// Whether the plugin asks to be asked that hook. One that it does not ask for it cannot be given.
fn is_wanted(plugin: &Plugin, hook: &str) -> bool {
    CALLED_BY_NAME.contains(&hook) || plugin.wants.as_ref().is_none_or(|wants| wants.allow(&hook_grant(hook)))
}
