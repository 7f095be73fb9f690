//! `[registry]`: the registries that plugins come from.

use anyhow::{Context, Result, ensure};
use bub_registry::{Host, Repository};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// `[registry]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PluginRegistry {
    /// Where `NAME@VERSION` is looked for, as in `oci://HOST/PATH`.
    pub default: Option<String>,
    /// The names of the secrets that hold credentials, by host with its port.
    pub secrets: BTreeMap<String, String>,
    /// Seconds that a request to a registry may take.
    pub timeout_seconds: u64,
}

impl Default for PluginRegistry {
    fn default() -> Self {
        Self { default: None, secrets: BTreeMap::new(), timeout_seconds: 120 }
    }
}

impl PluginRegistry {
    pub(super) fn check(&self) -> Result<()> {
        if let Some(default) = &self.default {
            // What stands behind it is the name of a plugin.
            let repository = format!("{}/plugin", default.trim_end_matches('/')).parse::<Repository>();
            repository.context("`registry.default` of config.toml")?;
            ensure!(
                default.starts_with(bub_registry::SCHEME),
                "`registry.default` of config.toml: write `oci://HOST/PATH`"
            );
        }
        for (host, name) in &self.secrets {
            host.parse::<Host>().context("`registry.secrets` of config.toml")?;
            bub_egress::secret::check_name(name).context("`registry.secrets` of config.toml")?;
        }
        ensure!(
            self.timeout_seconds > 0,
            "`registry.timeout_seconds` of config.toml: `0` is not a positive whole number"
        );
        Ok(())
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// The name of the secret with the credentials for that host.
    pub fn secret(&self, host: &Host) -> Option<&str> {
        let named = self.secrets.iter().find(|(named, _)| named.eq_ignore_ascii_case(host.as_str()));
        named.map(|(_, secret)| secret.as_str())
    }
}
