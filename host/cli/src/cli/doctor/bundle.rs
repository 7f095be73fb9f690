//! `doctor --bundle`: a bug report in one file without secrets.
//!
//! **Invariant**: a bundle is built from an allowlist, not a denylist: texts of the configuration are shown by a list
//! of keys, variables by a list of names, and everything else is `***`.

mod redact;

use super::Diagnostic;
use crate::cli::log;
use anyhow::{Context, Result};
use bub_config::variables;
use bub_runtime::host::Host;
use bub_runtime::plugin::Plugin;
use flate2::Compression;
use flate2::write::GzEncoder;
use redact::{config, mask};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tokio::sync::mpsc;

/// Lines of the log that a bundle holds, the last ones.
const MAX_LINES: usize = 200;

/// Records the log from here on.
pub(super) fn record_log() -> mpsc::UnboundedReceiver<String> {
    let (taker, taken) = mpsc::unbounded_channel();
    log::redirect(taker);
    taken
}

/// Writes the bundle. `log` is what [`record_log`] began.
///
/// # Errors
///
/// The file exists or cannot be written, or the configuration cannot be read.
pub(super) fn write(
    file: &Path,
    host: &Host,
    diagnostics: &[Diagnostic],
    mut log: mpsc::UnboundedReceiver<String>,
) -> Result<()> {
    log::restore();
    let mut lines: Vec<String> = std::iter::from_fn(|| log.try_recv().ok()).collect();
    lines.drain(..lines.len().saturating_sub(MAX_LINES));
    let parts = [
        ("version.txt", version(host)),
        ("findings.txt", report(diagnostics)),
        ("config.toml", configuration(host)?),
        ("plugins.json", format!("{:#}\n", plugins(host))),
        ("environment.txt", environment(host)?),
        ("log.txt", mask(lines.concat())),
    ];
    let wrong = || format!("the bundle `{}` cannot be written", file.display());
    // Only the user can read it, and no file of theirs is lost.
    let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).with_context(wrong)?;
    let mut archive = tar::Builder::new(GzEncoder::new(target, Compression::default()));
    for (name, text) in parts {
        let text = host.config.redact(&text);
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        let path = format!("bub-wasm-{}/{name}", env!("CARGO_PKG_VERSION"));
        archive.append_data(&mut header, path, text.as_bytes()).with_context(wrong)?;
    }
    let written = archive.into_inner().and_then(GzEncoder::finish).and_then(|mut file| file.flush());
    written.with_context(wrong)
}

fn version(host: &Host) -> String {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!(
        "bub-wasm {} ({build} build, {os} {arch})\nengine: {}\n",
        env!("CARGO_PKG_VERSION"),
        host.engines.describe()
    )
}

fn report(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().fold(String::new(), |mut text, found| {
        let _ = writeln!(text, "{:<5} {}: {}", found.state.name(), mask(&found.what), mask(&found.text));
        text
    })
}

fn configuration(host: &Host) -> Result<String> {
    match fs::read_to_string(host.config.file()) {
        Ok(text) => config(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok("# there is no config.toml\n".to_owned()),
        Err(error) => Err(error).with_context(|| format!("`{}` cannot be read", host.config.file().display())),
    }
}

fn plugins(host: &Host) -> Value {
    let set = host.plugins();
    let row = |plugin: &Plugin| {
        json!({
            "name": plugin.name,
            "source": plugin.source.name(),
            "version": mask(&plugin.manifest.version),
            "digest": plugin.digest,
            "hooks": plugin.hooks,
            "grants": host.grants.given(plugin, Clone::clone).iter().map(|grant| mask(grant.as_str())).collect::<Vec<_>>(),
            "other_bytes": host.grants.is_for_other_bytes(plugin),
        })
    };
    let failed = set.failed.iter().map(|(name, reason)| json!({ "name": mask(name), "reason": mask(reason) }));
    // Without the messages of the failed calls, and without their senders.
    let held = host.quarantined().into_iter();
    let held = held.map(|held| json!({ "name": held.plugin, "hook": held.hook, "seconds": held.left.as_secs() }));
    json!({
        "plugins": set.iter().map(|plugin| row(plugin)).collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(),
        "quarantined": held.collect::<Vec<_>>(),
        "untrusted": set.untrusted.len(),
    })
}

fn environment(host: &Host) -> Result<String> {
    let mut text = String::new();
    for (name, value) in variables::report(&host.config.home)? {
        let _ = match value {
            Some(value) => writeln!(text, "{}={}", mask(&name), mask(&value)),
            None => writeln!(text, "{}", mask(&name)),
        };
    }
    Ok(text)
}
