//! `config.toml` as parsed.

use super::limits::LimitsTable;
use super::section::SECRET_NAMES;
use super::{
    Audit, Budget, Channel, McpServer, Plugin, PluginRegistry, PluginStore, Policy, Prices, Process, Quotas,
    RecordMode, Recordings, Serve, Telemetry, Token, Trusted, Undo, Update, mcp, serve,
};
use anyhow::Result;
use bub_system::files::{Access, read_text};
use bub_tape::Durability;
use bub_types::plugin_name::check_name;
use bub_types::text::one_line;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The only configuration file, below `$BUB_HOME`.
pub(super) const FILE: &str = "config.toml";

/// Maximum size of the file, in bytes.
pub(super) const MAX_FILE: usize = 16 << 20;

/// `config.toml` as parsed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) model: Option<String>,
    pub(super) fallback_models: Vec<String>,
    pub(super) api_base: Option<String>,
    pub(super) insecure_http: bool,
    pub(super) max_steps: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) model_timeout_seconds: Option<f64>,
    pub(super) limits: LimitsTable,
    pub(super) plugins: BTreeMap<String, Plugin>,
    pub(super) trusted_plugins: BTreeMap<String, Trusted>,
    pub(super) mcp: BTreeMap<String, McpServer>,
    pub(super) channels: BTreeMap<String, Channel>,
    pub(super) trusted_workspaces: Vec<PathBuf>,
    pub(super) spill_threshold: Option<u64>,
    pub(super) tool_budget: Option<u8>,
    pub(super) tools_always: Option<Vec<String>>,
    pub(super) tape_store: Option<String>,
    pub(super) plugin_store: Option<PluginStore>,
    pub(super) durability: Durability,
    pub(super) lock_wait: Option<f64>,
    pub(super) lease_seconds: Option<f64>,
    pub(super) memory_history_days: Option<u32>,
    pub(super) shared_fs: bool,
    pub(super) budget: Budget,
    pub(super) policy: Policy,
    pub(super) selector: Option<String>,
    pub(super) shadow_selector: Option<String>,
    pub(super) windows: BTreeMap<String, u32>,
    pub(super) context_reserve: Option<u32>,
    pub(super) embedding_model: Option<String>,
    pub(super) embedding_scale: Option<bub_recall::Baseline>,
    pub(super) serve: Serve,
    pub(super) tokens: Vec<Token>,
    pub(super) process: Process,
    pub(super) undo: Undo,
    pub(super) audit: Audit,
    pub(super) record: RecordMode,
    pub(super) recordings: Recordings,
    /// Whether other users can read the file and a key in it has a secret's name.
    #[serde(skip)]
    pub(super) exposes_keys: bool,
    pub(super) quotas: Quotas,
    pub(super) prices: Prices,
    pub(super) telemetry: Telemetry,
    pub(super) registry: PluginRegistry,
    pub(super) trust: bub_registry::Trust,
    pub(super) update: Update,
}

impl File {
    /// Reads the file; a missing file is an empty one.
    ///
    /// # Errors
    ///
    /// One line that names the file, the line or the key, and what is wrong.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let Some((text, access)) = read_text(path, MAX_FILE).map_err(anyhow::Error::msg)? else {
            return Ok(Self::default());
        };
        let mut file: Self = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            anyhow::anyhow!("`{}` line {line}: {}", path.display(), plain(error.message()))
        })?;
        file.check()?;
        // As other paths in it, it is below the home.
        if let (Some(root), Some(home)) = (&mut file.trust.sigstore.root, path.parent()) {
            *root = home.join(&*root);
        }
        file.exposes_keys = access == Access::ReadableByOthers && holds_key(&text);
        Ok(file)
    }

    /// Checks what the environment cannot override, so that an invalid file is rejected as a whole.
    fn check(&self) -> Result<()> {
        for name in self.plugins.keys() {
            let table = || format!("`[plugins.{}]` of config.toml", one_line(name));
            check_name(name)
                .map_err(|error| anyhow::anyhow!("{}: {error}; rename the table, and the file", table()))?;
        }
        self.budget.tokens_per_day.map_or(Ok(()), |tokens| positive("budget.tokens_per_day", tokens))?;
        self.windows
            .iter()
            .try_for_each(|(model, tokens)| positive(&format!("windows.{model}"), u64::from(*tokens)))?;
        if let Some(model) = &self.embedding_model {
            bub_model::split(model).map_err(|error| anyhow::anyhow!("`embedding_model` of config.toml: {error}"))?;
        }
        if let Some(scale) = &self.embedding_scale {
            let good = scale.spread > 0.0 && scale.spread.is_finite() && scale.median.is_finite();
            anyhow::ensure!(good, "`embedding_scale` of config.toml needs a `median` and a `spread` above 0");
        }
        mcp::check(&self.mcp)?;
        self.serve.check()?;
        self.prices.check()?;
        self.process.check()?;
        self.undo.check()?;
        self.recordings.check()?;
        self.quotas.check()?;
        self.registry.check()?;
        self.trust.check()?;
        self.update.check()?;
        serve::check_tokens(&self.tokens)
    }
}

/// Whether a string in the file has a secret's name; plugin settings may be secrets.
fn holds_key(text: &str) -> bool {
    fn is_key(name: &str, value: &toml::Value) -> bool {
        match value {
            toml::Value::String(text) => {
                let name = name.to_ascii_lowercase();
                !text.is_empty() && SECRET_NAMES.iter().any(|part| name.contains(part))
            }
            toml::Value::Table(table) => table.iter().any(|(name, value)| is_key(name, value)),
            toml::Value::Array(list) => list.iter().any(|value| is_key(name, value)),
            _ => false,
        }
    }
    let table: toml::Table = text.parse().unwrap_or_default();
    // `[[tokens]]` holds hashes only, `[trust]` and `[update]` public keys, and `[registry]` names of secrets.
    table
        .iter()
        .filter(|(name, _)| !["tokens", "trust", "registry", "update"].contains(&name.as_str()))
        .any(|(name, value)| is_key(name, value))
}

/// The parser's message on one line; for an unknown key, the nearest known one instead of all.
fn plain(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected"));
    let Some((written, expected)) = unknown else { return message.replace('\n', " ") };
    let names = expected.split('`').skip(1).step_by(2);
    format!("there is no key {written}{}", bub_types::suggest::hint(written.trim_matches('`'), names))
}

pub(super) fn positive(key: &str, value: u64) -> Result<()> {
    anyhow::ensure!(value > 0, "`{key}` of config.toml: `0` is not a positive whole number");
    Ok(())
}
