//! `plugin check --repro`: repeats a call that failed, in the same build or in another one. The files of the report are
//! untrusted.

use super::diagnostic::fix;
use super::sandbox::{Sandbox, Subject, inside};
use crate::cli::{log, text};
use anyhow::{Context, Result, bail, ensure};
use bub_config::{Config, Limits};
use bub_permissions::Grant;
use bub_runtime::hooks;
use bub_runtime::hooks::Replay;
use bub_runtime::plugin;
use bub_runtime::plugin::quarantine::{CALL, COMPONENT, MAX_BYTES};
use bub_runtime::turn::{CallScope, TurnSnapshot};
use bub_types::hook;
use bub_types::text::one_line;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// Grants of a plugin that requests none.
const ALL: [Grant; 5] = [Grant::ALL_HOOKS, Grant::ALL_TAPES, Grant::ALL_TOOLS, Grant::AGENT, Grant::USAGE];

/// The content of `call.json`.
#[derive(Deserialize)]
struct Call {
    plugin: String,
    digest: String,
    hook: String,
    fault: String,
    arguments: Value,
    turn: Value,
    config: Value,
    limits: Map<String, Value>,
}

pub(super) async fn run(
    dir: &Path,
    file: Option<&str>,
    more: Vec<Grant>,
    as_json: bool,
    own: &Config,
) -> Result<ExitCode> {
    let call = read(dir)?;
    let bytes = match file {
        Some(file) => plugin::bytes_of(Path::new(file)).with_context(|| format!("`{}`", one_line(file)))?,
        None => kept(dir, &call.digest)?,
    };
    bub_types::plugin_name::check_name(&call.plugin).with_context(|| not_understood(dir))?;
    let settings = settings(&call).with_context(|| not_understood(dir))?;
    let mut grants = inside(&ALL, None);
    grants.extend([Grant::WORKSPACE, Grant::model("offline:*")].into_iter().chain(more));
    let subject = Subject {
        name: &call.plugin,
        bytes: Some(&bytes),
        settings,
        grants,
        provider: None,
        selects: false,
        is_alone: true,
    };
    let hush = log::mute();
    let sandbox = Sandbox::start(own, subject).await?;
    let told: Option<TurnSnapshot> = match &call.turn {
        Value::Null => None,
        turn if turn.get("left_out").is_some() => bail!("the turn was too large to be recorded"),
        turn => Some(serde_json::from_value(turn.clone()).with_context(|| not_understood(dir))?),
    };
    let again = Replay { plugin: &sandbox.plugin, hook: &call.hook, arguments: call.arguments, turn: told };
    let made =
        hooks::replay_call(&CallScope::new(&sandbox.host), again).await.map_err(|reason| anyhow::anyhow!(reason))?;
    let count = sandbox.host.meter.of(&call.plugin).into_iter().find(|(hook, _)| *hook == call.hook);
    sandbox.host.close().await;
    drop(hush);
    let (hook, name) = (one_line(&call.hook), &call.plugin);
    let Some((_, count)) = count else {
        bail!("plugin `{name}` was not asked `{hook}`: this build does not export it, or does not request its grant");
    };
    let error = made.map(|failure| failure.to_string()).filter(|_| count.fault.is_none());
    let mut out = std::io::stdout().lock();
    if as_json {
        let (fault, output) = (count.fault.as_ref(), count.output.as_deref());
        let told = json!({
            "plugin": name, "hook": hook, "digest": sandbox.plugin.digest, "before": call.fault,
            "breaks": fault.is_some(), "fault": fault.map(ToString::to_string), "output": output, "fix": fault.map(fix),
            "error": error,
        });
        writeln!(out, "{}", text::json(&told))?;
    } else if let Some(fault) = &count.fault {
        writeln!(out, "hook `{hook}` of plugin `{name}`: it breaks again: {}", one_line(&fault.to_string()))?;
        super::wrote(&mut out, count.output.as_deref())?;
        writeln!(out, "  fix: {}", fix(fault))?;
    } else {
        let with = error.map(|error| format!(", with an error of its own: {error}")).unwrap_or_default();
        writeln!(out, "hook `{hook}` of plugin `{name}`: it ends well{with}")?;
    }
    Ok(if count.fault.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn not_understood(dir: &Path) -> String {
    format!("`{}` is not understood", one_line(&dir.join(CALL).to_string_lossy()))
}

fn read(dir: &Path) -> Result<Call> {
    let path = dir.join(CALL);
    let missing = || format!("`{}` has no recorded call", one_line(&dir.to_string_lossy()));
    ensure!(path.is_file(), missing());
    let mut text = String::new();
    let file = std::fs::File::open(&path).with_context(missing)?;
    file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).with_context(missing)?;
    ensure!(text.len() <= MAX_BYTES, "`{}` is larger than {} MiB", one_line(&path.to_string_lossy()), MAX_BYTES >> 20);
    let told =
        plugin::parse_json(&text).map_err(|reason| anyhow::anyhow!(reason)).with_context(|| not_understood(dir))?;
    serde_json::from_value(told).with_context(|| not_understood(dir))
}

/// The component of the report.
fn kept(dir: &Path, digest: &str) -> Result<Vec<u8>> {
    let path = dir.join(COMPONENT);
    let shown = one_line(&path.to_string_lossy());
    if !path.exists() {
        bail!("`{shown}` was not recorded; name the plugin's file: bub-wasm plugin check --repro DIR FILE");
    }
    let bytes = plugin::bytes_of(&path).with_context(|| format!("`{shown}`"))?;
    let found = plugin::digest(&bytes);
    ensure!(
        found == digest,
        "`{shown}` is not the plugin of the call: its sha256 is {found}, not `{}`",
        one_line(digest)
    );
    Ok(bytes)
}

/// The configuration and limits of the call.
fn settings(call: &Call) -> Result<bub_config::Plugin> {
    let config = match &call.config {
        Value::Object(config) if config.get("left_out").is_none() => config.clone(),
        Value::Object(_) => bail!("its configuration was too large to be recorded"),
        _ => Map::new(),
    };
    let mut limits = call.limits.clone();
    if let Some(calls) = limits.get("calls").and_then(Value::as_u64) {
        let deadline = hook::Call::from_name(&call.hook).map_or(hook::Deadline::Plugin, hook::Call::deadline);
        limits.insert("calls".to_owned(), Limits::configured_calls(calls, deadline).into());
    }
    let mut plugin = bub_config::Plugin::default();
    plugin.config = config;
    plugin.limited(limits.into()).map_err(|reason| anyhow::anyhow!(reason))
}
