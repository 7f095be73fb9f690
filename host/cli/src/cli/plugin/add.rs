//! `plugin add`: installs a component after its owner has reviewed it.

use super::grant_prompt::{self, Decision, GrantOptions};
use super::{fetch, mend, report};
use crate::cli::replay;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_permissions::{Grants, shell_word};
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin;
use bub_runtime::plugin::PluginFiles;
use bub_runtime::plugin::Source;
use bub_types::text::one_line;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Component file, or an https URL (which needs --sha256)
    #[arg(value_name = "FILE|URL")]
    from: String,
    /// Expected SHA-256 of the component, in hex
    #[arg(long, value_name = "DIGEST")]
    sha256: Option<String>,
    /// Name of the plugin [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    grant_options: GrantOptions,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { from, sha256, name, grant_options } = arguments;
    let choice = grant_options.parse()?;
    let shown = fetch::shown(&from);
    let of_file = fetch::name_of(&from);
    let as_written = name.is_none();
    let name = name.or(of_file).with_context(|| format!("`{shown}` names no file; --name gives one"))?;
    let check = |name: &str| {
        PluginFiles::new(&config, name).map_err(|error| anyhow::anyhow!("{error:#}; --name gives it another"))
    };
    // An invalid name is reported before the component is read.
    check(&name)?;
    let bytes = bytes(&from, &shown, sha256.as_deref()).await?;
    let name = if as_written { fetch::own_name(name, &bytes) } else { name };
    let files = check(&name)?;
    let is_off = !config.plugin(&name).enabled && !plugin::is_embedded(&name);
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let plugins = host.plugins();
    let candidate = host.probe(&name, &bytes).await;
    let candidate =
        candidate.map_err(|error| anyhow::anyhow!("`{shown}` is not added: {}", mend::with_mend(&error)))?;
    plugins.would_take(&candidate).with_context(|| format!("`{shown}` is not added"))?;
    let before = plugins.iter().find(|plugin| plugin.name == name && plugin.source == Source::User);
    let mut out = std::io::stdout();
    let is_there = before.is_some_and(|before| before.digest == candidate.digest);
    report::write(&mut out, &candidate, bytes.len() as u64)?;
    if let Some(before) = before.filter(|_| !is_there) {
        report::difference(&mut out, before, &candidate)?;
    }
    if before.is_some() && !is_there && !fetch::is_address(&from) {
        replay::offer(&mut out, &host.config, &name, &from)?;
    }
    let held = before.map(|before| host.grants.given(before, Grants::clone)).unwrap_or_default();
    let decision = choice.decide(&candidate, &held, is_there)?;
    if matches!(decision, Decision::Leave) && !is_there {
        writeln!(out, "`{shown}` is not added")?;
        return Ok(ExitCode::FAILURE);
    }
    if is_there {
        writeln!(out, "plugin `{name}` is already installed with this content")?;
    } else {
        files.install(&bytes)?;
        let back =
            if files.has_previous() { format!("; to go back: bub-wasm plugin rollback {name}") } else { String::new() };
        writeln!(out, "plugin `{name}` is there now: {}{back}", shell_word(&files.file().to_string_lossy()))?;
    }
    grant_prompt::apply(&mut out, &host, &candidate, &decision)?;
    if is_off {
        writeln!(out, "it is switched off by `enabled = false` in `[plugins.{name}]` of config.toml")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the bytes once, so that the reviewed bytes are the installed ones.
async fn bytes(from: &str, shown: &str, sha256: Option<&str>) -> Result<Vec<u8>> {
    if let Some(expected) = sha256
        && !plugin::is_digest(expected)
    {
        bail!("`{}` is not a SHA-256 digest, which has 64 hex digits", one_line(expected));
    }
    let bytes = match (fetch::is_address(from), sha256) {
        (true, None) => bail!("`{shown}` is not downloaded without --sha256, because its content may change"),
        (true, Some(_)) => fetch::bytes(from).await.with_context(|| format!("`{shown}` cannot be fetched"))?,
        (false, _) => plugin::bytes_of(Path::new(from)).with_context(|| format!("`{shown}` is not added"))?,
    };
    if let Some(expected) = sha256 {
        let digest = plugin::digest(&bytes);
        if !expected.eq_ignore_ascii_case(&digest) {
            bail!("`{shown}` has another SHA-256: {digest}, not `{}`", one_line(expected));
        }
    }
    Ok(bytes)
}
