//! `plugin rollback`: restores the previous version with its grants.

use super::report;
use anyhow::{Context, Result};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin::PluginFiles;
use bub_runtime::plugin::Source;
use bub_runtime::plugin::plugin_lock;
use bub_types::text::one_line;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) async fn run(name: &str, config: Config, workspace: &Path) -> Result<ExitCode> {
    let files = PluginFiles::new(&config, name)?;
    let bytes = files.previous_bytes()?;
    plugin_lock::check_return(&config, name, &bytes)?;
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let plugins = host.plugins();
    let unchanged = || format!("the version before of plugin `{name}` does not load, and nothing is changed");
    let candidate = host.probe(name, &bytes).await.with_context(unchanged)?;
    plugins.would_take(&candidate).with_context(unchanged)?;
    let mut out = std::io::stdout();
    writeln!(out, "plugin `{name}`{}: sha256 {}", report::version(&candidate), candidate.digest)?;
    if let Some(now) = plugins.iter().find(|plugin| plugin.name == name && plugin.source == Source::User) {
        report::difference(&mut out, now, &candidate)?;
    }
    // First the lock, which admits both versions.
    plugin_lock::note_return(&host.config.home, name, &candidate.digest)?;
    files.restore(&bytes)?;
    host.grants.reload_now();
    let given: Vec<String> =
        host.grants.given(&candidate, |given| given.iter().map(|grant| one_line(grant.as_str())).collect());
    match given.is_empty() {
        true => writeln!(out, "it is active again, without grants")?,
        false => writeln!(out, "it is active again, with its earlier grants: {}", given.join(" "))?,
    }
    if files.has_previous() {
        writeln!(out, "the replaced version is kept; to go back: bub-wasm plugin rollback {name}")?;
    }
    Ok(ExitCode::SUCCESS)
}
