//! `plugin check`: runs a plugin in a sandbox against sample turns, and reports what breaks its contract and how to fix it;
//! or repeats a call that failed.

mod channel;
mod coverage;
mod diagnostic;
mod repro;
mod samples;
pub(in crate::cli) mod sandbox;

use super::fetch;
use crate::cli::{log, text};
use anyhow::{Context, Result};
use bub_config::Config;
use bub_permissions::{Grants, shell_word};
use bub_runtime::channel::Printer;
use bub_runtime::host::{Host, grant_edit};
use bub_runtime::plugin;
use bub_runtime::plugin::{Count, Plugin, Source, quarantine};
use bub_runtime::turn::CallScope;
use bub_types::hook::{Call, Hook};
use bub_types::text::one_line;
use coverage::{Coverage, UntestedItem};
use diagnostic::{Diagnostic, Diagnostics};
use sandbox::{Sandbox, Subject};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of a plugin, or a component file
    #[arg(value_name = "NAME|FILE", required_unless_present = "repro")]
    plugin: Option<String>,
    /// Repeat a recorded call that failed; with FILE, in that build of the plugin
    #[arg(long, value_name = "DIR")]
    repro: Option<PathBuf>,
    /// Give the plugin this grant too; by default nothing reaches outside of the sandbox
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The plugin to check.
struct CheckedPlugin {
    plugin: Arc<Plugin>,
    /// `None` for an embedded guest.
    bytes: Option<Vec<u8>>,
    /// Its configuration.
    settings: bub_config::Plugin,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { plugin: name, repro, grant, json } = arguments;
    let more = grant_edit::parse(&grant)?;
    if let Some(dir) = &repro {
        return repro::run(dir, name.as_deref(), more, json, &config).await;
    }
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let CheckedPlugin { plugin, bytes, settings } = find(&host, &name.unwrap_or_default()).await?;
    let wanted = plugin.wanted();
    let mut grants = sandbox::inside(&wanted, plugin.provider.as_deref());
    grants.extend(more);
    let subject = Subject {
        name: &plugin.name,
        bytes: bytes.as_deref(),
        settings,
        grants,
        provider: plugin.provider.as_deref(),
        selects: plugin.implements(Hook::Selector),
        is_alone: false,
    };
    // The log of the sandbox is about quarantines and files that are removed afterwards.
    let hush = log::mute();
    let sandbox = Sandbox::start(&host.config, subject).await?;
    let (diagnostics, coverage) = try_all(&sandbox).await?;
    drop(hush);
    let kept = quarantine::adopt(&sandbox.crash_reports(), &host.config.home);
    let mut counts = sandbox.host.meter.of(&plugin.name);
    // Calls while the plugin was loaded are not part of a sample.
    counts.remove(Call::Load.name());
    let untested = coverage.untested(&sandbox, &counts);
    sandbox.host.close().await;
    let report = Report { plugin: &plugin, diagnostics, coverage, counts, untested, kept };
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", text::json(&report.json()))?,
        false => report.tell(&mut out)?,
    }
    Ok(if report.diagnostics.is_broken() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The findings of a check of a component.
pub(super) struct Trial {
    pub(super) plugin: Arc<Plugin>,
    pub(super) is_broken: bool,
    /// In a line.
    pub(super) summary: String,
    /// The faults, and how to fix them.
    pub(super) lines: Vec<String>,
}

/// Checks a component that is not installed, with that configuration and those limits.
///
/// # Errors
///
/// It does not load.
pub(super) async fn of_component(
    own: &Config,
    name: &str,
    bytes: &[u8],
    settings: bub_config::Plugin,
) -> Result<Trial> {
    let subject = |grants, provider, selects| {
        let settings = settings.clone();
        Subject { name, bytes: Some(bytes), settings, grants, provider, selects, is_alone: false }
    };
    // The log of the sandbox is about quarantines and files that are removed afterwards.
    let _hush = log::mute();
    // Its grant requests are known once it was loaded.
    let loaded = Sandbox::start(own, subject(Grants::default(), None, false)).await?;
    let (plugin, wanted) = (loaded.plugin.clone(), loaded.plugin.wanted());
    loaded.host.close().await;
    let provider = plugin.provider.as_deref();
    let grants = sandbox::inside(&wanted, provider);
    let sandbox = Sandbox::start(own, subject(grants, provider, plugin.implements(Hook::Selector))).await?;
    let (diagnostics, _) = try_all(&sandbox).await?;
    let mut counts = sandbox.host.meter.of(&plugin.name);
    counts.remove(Call::Load.name());
    sandbox.host.close().await;
    let mut lines = Vec::new();
    for Diagnostic { place, what, fix, output, .. } in diagnostics.broken() {
        lines.push(format!("{place}: {what}"));
        lines.extend(
            output.iter().flat_map(|output| output.lines().map(|line| format!("| {line}")).collect::<Vec<_>>()),
        );
        lines.push(format!("fix: {fix}"));
    }
    let calls = text::count(counts.values().map(|count| count.calls).sum(), "call", "calls");
    let is_broken = diagnostics.is_broken();
    let summary = match is_broken {
        true => format!("it breaks its contract in {calls}"),
        false => format!("it followed its contract in {calls}"),
    };
    Ok(Trial { plugin, is_broken, summary, lines })
}

async fn find(host: &Arc<Host>, name: &str) -> Result<CheckedPlugin> {
    // A path is recognized by its form, which no name has.
    if name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "wasm") {
        let shown = one_line(name);
        let bytes = plugin::bytes_of(Path::new(name)).with_context(|| format!("`{shown}`"))?;
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let stem = fetch::own_name(stem, &bytes);
        let plugin = host.probe(&stem, &bytes).await.with_context(|| format!("`{shown}` does not load"))?;
        return Ok(CheckedPlugin { plugin, bytes: Some(bytes), settings: host.config.plugin(&stem) });
    }
    let plugins = host.plugins();
    let plugin = super::find(&plugins, name)?.clone();
    let bytes = match &plugin.file {
        Some(file) => Some(plugin::bytes_of(file).with_context(|| format!("`{}`", file.display()))?),
        None => None,
    };
    let settings = match plugin.source {
        Source::Workspace => host.grants.trusted(&plugin.digest).unwrap_or_default().settings(),
        Source::Embedded | Source::User => host.config.plugin(name),
    };
    Ok(CheckedPlugin { plugin, bytes, settings })
}

/// Runs all samples, and collects diagnostics after each.
async fn try_all(sandbox: &Sandbox) -> Result<(Diagnostics, Coverage)> {
    let plugin = &sandbox.plugin;
    let counts = || {
        let mut counts = sandbox.host.meter.of(&plugin.name);
        counts.remove(Call::Load.name());
        counts
    };
    let (mut diagnostics, mut coverage) = (Diagnostics::default(), Coverage::default());
    diagnostics.read(plugin);
    for tool in plugin.tools.iter().filter(|tool| !samples::can_call(plugin, tool)) {
        coverage.leave_out(&format!("its tool `{}`", tool.name), "a person cannot type arguments for its schema");
    }
    for sample in samples::all(plugin) {
        let calls = counts().get("call-tool").map_or(0, |count| count.calls);
        let failure = sandbox.turn(sample.message).await.err().filter(|_| !sample.fails);
        diagnostics.after(&sample.what, plugin, &counts(), failure);
        coverage.after(&sample.what, &counts());
        if let Some(tool) = &sample.tool {
            coverage.of_tool(tool, calls, &counts());
        }
        diagnostics.on_tapes(&sample.what, sandbox, &mut coverage).await?;
    }
    let calls = CallScope::new(&sandbox.host);
    for command in &plugin.commands {
        let what = format!("its command `{}`", command.name);
        if !samples::command(&calls, &command.name).await {
            diagnostics.goes_on(&what);
        }
        diagnostics.after(&what, plugin, &counts(), None);
        coverage.after(&what, &counts());
    }
    let outcome = channel::all(&calls, &plugin.name).await;
    diagnostics.after("what a channel is asked", plugin, &counts(), None);
    coverage.after_each("what a channel is asked", &counts());
    diagnostics.of_channel(outcome);
    for (what, load) in [("a message that arrives", (false, 0)), ("a message that arrives in a turn", (true, 3))] {
        samples::arrival(&calls, load).await;
        diagnostics.after(what, plugin, &counts(), None);
        coverage.after(what, &counts());
    }
    Ok((diagnostics, coverage))
}

type Counts = std::collections::BTreeMap<&'static str, Count>;

/// The report.
struct Report<'a> {
    plugin: &'a Plugin,
    diagnostics: Diagnostics,
    coverage: Coverage,
    counts: Counts,
    untested: Vec<UntestedItem>,
    kept: Vec<PathBuf>,
}

impl Report<'_> {
    fn tell(&self, out: &mut impl Write) -> Result<()> {
        for (hook, count) in &self.counts {
            let each = count.took.as_secs_f64() * 1e3 / count.calls.max(1) as f64;
            let (calls, samples) = (text::count(count.calls, "call", "calls"), self.coverage.samples(hook));
            let samples = text::count(samples as u64, "sample", "samples");
            let fuel = count.most_fuel;
            writeln!(out, "{hook:<21} {calls} in {samples}, {each:.2} ms each, at most {fuel} units of fuel")?;
        }
        for Diagnostic { place, what, fix, output, .. } in self.diagnostics.broken() {
            writeln!(out, "broken: {place}: {what}")?;
            wrote(out, output.as_deref())?;
            writeln!(out, "  fix: {fix}")?;
        }
        for path in &self.kept {
            let path = shell_word(&path.to_string_lossy());
            writeln!(out, "the call is recorded; to repeat it: bub-wasm plugin check --repro {path}")?;
        }
        for Diagnostic { place, what, fix, .. } in self.diagnostics.notes() {
            writeln!(out, "note: {place}: {what}")?;
            writeln!(out, "  fix: {fix}")?;
        }
        for UntestedItem { what, why } in &self.untested {
            writeln!(out, "not tried: {what}: {why}")?;
        }
        for (hook, sample) in self.coverage.once() {
            writeln!(out, "tested with one kind of input only: hook `{hook}`: {sample}")?;
        }
        let name = &self.plugin.name;
        match (self.diagnostics.is_broken(), self.untested.len() as u64) {
            (true, _) => writeln!(out, "plugin `{name}` breaks its contract")?,
            (false, 0) => writeln!(out, "plugin `{name}` followed its contract in all samples")?,
            (false, untested) => {
                let parts = text::count(untested, "part of it was", "parts of it were");
                writeln!(out, "plugin `{name}` followed its contract in all samples; {parts} not tried")?;
            }
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let hooks = self.counts.iter().map(|(hook, count)| {
            json!({
                "hook": hook, "calls": count.calls, "samples": self.coverage.samples(hook), "faults": count.faults,
                "most_fuel": count.most_fuel, "milliseconds": count.took.as_secs_f64() * 1e3,
                "longest_milliseconds": count.longest.as_secs_f64() * 1e3,
            })
        });
        let diagnostic = |diagnostic: &Diagnostic| {
            json!({
                "where": diagnostic.place, "what": diagnostic.what, "fix": diagnostic.fix, "output": diagnostic.output.as_deref(),
            })
        };
        let untested = self.untested.iter().map(|untested| json!({ "what": untested.what, "why": untested.why }));
        let once = self.coverage.once().map(|(hook, sample)| json!({ "hook": hook, "sample": sample }));
        json!({
            "plugin": self.plugin.name,
            "digest": self.plugin.digest,
            "hooks": hooks.collect::<Vec<_>>(),
            "channel": self.diagnostics.channel,
            "not_asked": Coverage::not_asked(self.plugin, &self.counts),
            "not_tried": untested.collect::<Vec<_>>(),
            "tried_once": once.collect::<Vec<_>>(),
            "broken": self.diagnostics.broken().map(diagnostic).collect::<Vec<_>>(),
            "notes": self.diagnostics.notes().map(diagnostic).collect::<Vec<_>>(),
            "reproducers": self.kept,
        })
    }
}

/// Prints the output of a plugin in a call that failed.
fn wrote(out: &mut impl Write, output: Option<&str>) -> std::io::Result<()> {
    let Some(output) = output else { return Ok(()) };
    writeln!(out, "  it wrote:")?;
    output.lines().try_for_each(|line| writeln!(out, "  | {line}"))
}
