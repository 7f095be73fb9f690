//! `[process]`: programs that plugins start.

use anyhow::{Result, ensure};
use bub_permissions::policy::commands::CommandRules;
use serde::Deserialize;

/// `[process]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Process {
    /// Variables that programs get in addition to [`bub_system::process::ALLOWED`]: names, or prefixes such as `AWS_*`.
    pub env: Vec<String>,
    /// Rules for the commands of tools that run programs.
    pub rules: CommandRules,
}

impl Process {
    pub(super) fn check(&self) -> Result<()> {
        for name in &self.env {
            let plain = name.strip_suffix('*').unwrap_or(name);
            let is_name = !plain.is_empty() && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            ensure!(
                is_name,
                "`process.env` of config.toml: `{}` is not the name of a variable, as in `DATABASE_URL` or `AWS_*`",
                name.escape_debug()
            );
            let is_own = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("BUB_"));
            ensure!(
                !is_own,
                "`process.env` of config.toml: `{name}` is a variable of bub-wasm, which programs never get"
            );
        }
        Ok(())
    }
}
