//! `plugin trust`: allows a workspace's plugin to run. Opening a repository runs none of its plugins.

use anyhow::{Context, Result, bail};
use bub_config::{Config, edit};
use bub_runtime::plugin;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Component file, as in `.bub/plugins/NAME.wasm`; with --revoke also a digest
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
    /// Revoke the trust
    #[arg(long)]
    revoke: bool,
    /// List the trusted plugins
    #[arg(long, conflicts_with_all = ["revoke", "file"])]
    list: bool,
    /// Print JSON
    #[arg(long, requires = "list")]
    json: bool,
}

impl Arguments {
    /// Whether it does more than list.
    pub(super) fn changes(&self) -> bool {
        !self.list
    }
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let Some(file) = &arguments.file else {
        list(&mut out, config, arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    if arguments.revoke {
        let written = file.to_string_lossy();
        let digest = match plugin::is_digest(&written) {
            true => written.to_ascii_lowercase(),
            false => plugin::digest_of(file).with_context(|| format!("`{written}`"))?,
        };
        edit::edit(&config.file(), |document| match edit::distrust(document, &digest) {
            true => Ok(()),
            false => bail!("`{}` is not trusted", file.display()),
        })?;
        writeln!(out, "`{}` is no longer trusted", file.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    let digest = plugin::digest_of(file).with_context(|| format!("`{}`", file.display()))?;
    trust(config, file, &digest)?;
    writeln!(out, "`{}` is trusted, these bytes and no others: {digest}", file.display())?;
    writeln!(out, "it may do nothing yet; `bub-wasm plugin list` in its workspace says what it wants")?;
    Ok(ExitCode::SUCCESS)
}

/// Trusts these bytes. Earlier grants are kept.
///
/// # Errors
///
/// The configuration cannot be written.
pub(super) fn trust(config: &Config, file: &Path, digest: &str) -> Result<()> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    edit::edit(&config.file(), |document| {
        edit::trusted(document, digest)?["file"] = toml_edit::value(&*file.to_string_lossy());
        Ok(())
    })
}

fn list(out: &mut impl Write, config: &Config, as_json: bool) -> Result<()> {
    if as_json {
        let all = config.trusted_plugins.iter();
        let all = all.map(|(digest, trusted)| json!({ "digest": digest, "file": trusted.file, "grants": trusted.grants.iter().collect::<Vec<_>>() }));
        writeln!(out, "{:#}", json!({ "trusted_plugins": all.collect::<Vec<_>>() }))?;
        return Ok(());
    }
    for (digest, trusted) in &config.trusted_plugins {
        writeln!(out, "{digest} {}", bub_types::text::one_line(&trusted.file.to_string_lossy()))?;
    }
    Ok(())
}
