//! `[update]`: where newer programs come from.

use anyhow::{Context, Result, ensure};
use bub_registry::PublicKey;
use serde::Deserialize;
use std::time::Duration;

/// `[update]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Update {
    /// The address or the folder of the index of releases.
    pub index: Option<String>,
    /// The public key of minisign that signs it.
    pub key: Option<String>,
    /// Seconds that the index may take, and that a download may pause.
    pub timeout_seconds: u64,
}

impl Default for Update {
    fn default() -> Self {
        Self { index: None, key: None, timeout_seconds: 30 }
    }
}

impl Update {
    pub(super) fn check(&self) -> Result<()> {
        if let Some(key) = &self.key {
            key.parse::<PublicKey>().context("`update.key` of config.toml")?;
        }
        ensure!(
            self.timeout_seconds > 0,
            "`update.timeout_seconds` of config.toml: `0` is not a positive whole number"
        );
        Ok(())
    }

    /// How long the index may take, and a download may pause.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
