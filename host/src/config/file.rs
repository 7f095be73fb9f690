//! `config.toml` as it stands in the file.

use super::limits::LimitsTable;
use super::{Budget, Channel, Plugin, Policy, Serve, Token, Trusted, serve};
use crate::tape::Durability;
use anyhow::{Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The only configuration file, below `$BUB_HOME`.
pub(super) const FILE: &str = "config.toml";

/// `config.toml` as it stands in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) model: Option<String>,
    pub(super) fallback_models: Vec<String>,
    pub(super) api_base: Option<String>,
    pub(super) max_steps: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) model_timeout_seconds: Option<f64>,
    pub(super) limits: LimitsTable,
    pub(super) plugins: BTreeMap<String, Plugin>,
    pub(super) trusted_plugins: BTreeMap<String, Trusted>,
    pub(super) channels: BTreeMap<String, Channel>,
    pub(super) trusted_workspaces: Vec<PathBuf>,
    pub(super) spill_threshold: Option<u64>,
    pub(super) tape_store: Option<String>,
    pub(super) durability: Durability,
    pub(super) lock_wait: Option<f64>,
    pub(super) shared_fs: bool,
    pub(super) budget: Budget,
    pub(super) policy: Policy,
    pub(super) selector: Option<String>,
    pub(super) shadow_selector: Option<String>,
    pub(super) windows: BTreeMap<String, u32>,
    pub(super) context_reserve: Option<u32>,
    pub(super) serve: Serve,
    pub(super) tokens: Vec<Token>,
}

impl File {
    /// Nothing is configured where there is no file.
    ///
    /// # Errors
    ///
    /// One line that names the file, the line or the key, and what is wrong.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => bail!("`{}` cannot be read: {error}", path.display()),
        };
        let file: Self = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            anyhow::anyhow!("`{}` line {line}: {}", path.display(), plain(error.message()))
        })?;
        file.check()?;
        Ok(file)
    }

    /// What holds whatever the environment says: whoever reads a part of the file takes nothing of one that is wrong.
    fn check(&self) -> Result<()> {
        self.budget.tokens_per_day.map_or(Ok(()), |tokens| positive("budget.tokens_per_day", tokens))?;
        self.windows
            .iter()
            .try_for_each(|(model, tokens)| positive(&format!("windows.{model}"), u64::from(*tokens)))?;
        self.serve.check()?;
        serve::check_tokens(&self.tokens)
    }
}

/// What the parser says, on one line; for an unknown key not the list of all that there are, but the one that was meant.
fn plain(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected"));
    let Some((written, expected)) = unknown else { return message.replace('\n', " ") };
    let names = expected.split('`').skip(1).step_by(2);
    format!("there is no key {written}{}", crate::nearest::hint(written.trim_matches('`'), names))
}

pub(super) fn positive(key: &str, value: u64) -> Result<()> {
    anyhow::ensure!(value > 0, "`{key}` of config.toml: `0` is not a positive whole number");
    Ok(())
}
