//! Settings of plugins: by name, and for workspace plugins by digest.

use super::limits::LimitsTable;
use bub_permissions::Grants;
use serde::Deserialize;
use std::path::PathBuf;

/// How a plugin's fault affects the turn, where the hook does not decide that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    /// The turn fails.
    #[default]
    Fail,
    /// The plugin is skipped.
    Skip,
    /// The plugin is a gate: the calls that it decides about are denied.
    Deny,
}

/// `plugin_store`: where plugins and their settings are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginStore {
    /// In the database of the tapes, for all workers: the default with PostgreSQL.
    Shared,
    /// In the home of each worker.
    Local,
}

/// `[plugins.NAME]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plugin {
    /// Whether it is loaded.
    pub enabled: bool,
    /// Its grants. Default: the embedded table for embedded guests, none for others.
    pub grants: Option<Grants>,
    /// SHA-256 of the file that was granted, in hex.
    pub digest: Option<String>,
    /// Model tokens that it may use in a day, local time.
    pub daily_tokens: Option<u64>,
    /// Whether the grants apply to any file of that name, for plugins under development.
    pub follow: bool,
    /// How its faults affect the turn.
    pub on_fault: OnFault,
    /// Its own limits, which override `[limits]`.
    pub(super) limits: LimitsTable,
    /// Settings that the plugin reads through `bub:plugin/config`.
    pub config: serde_json::Map<String, serde_json::Value>,
}

impl Default for Plugin {
    fn default() -> Self {
        Self {
            enabled: true,
            grants: None,
            digest: None,
            daily_tokens: None,
            follow: false,
            on_fault: OnFault::default(),
            limits: LimitsTable::default(),
            config: serde_json::Map::new(),
        }
    }
}

/// `[trusted_plugins.DIGEST]`: a workspace plugin that may run. Keyed by digest, in whichever workspace the file is: a
/// name proves nothing, because a workspace can name a file as it likes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trusted {
    /// The file's path when it was trusted, for display.
    pub file: PathBuf,
    /// Its grants.
    pub grants: Grants,
    /// How its faults affect the turn.
    pub on_fault: OnFault,
    /// Its own limits, which override `[limits]`.
    pub(super) limits: LimitsTable,
    /// Settings that the plugin reads through `bub:plugin/config`.
    pub config: serde_json::Map<String, serde_json::Value>,
}

impl Trusted {
    /// The same as settings of a named plugin.
    pub fn settings(self) -> Plugin {
        let Self { grants, on_fault, limits, config, .. } = self;
        Plugin { grants: Some(grants), on_fault, limits, config, ..Plugin::default() }
    }
}

impl Plugin {
    /// Settings of a disabled plugin.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }

    /// With these grants, for any digest.
    pub fn with_grants(self, grants: Grants) -> Self {
        Self { grants: Some(grants), digest: None, follow: true, ..self }
    }

    /// With these limits alone, as a crash report records them.
    ///
    /// # Errors
    ///
    /// `limits` is not a table of limits.
    pub fn limited(self, limits: serde_json::Value) -> Result<Self, String> {
        let limits: LimitsTable = serde_json::from_value(limits).map_err(|error| error.to_string())?;
        Ok(Self { limits: limits.clamped(), ..self })
    }

    /// Whether the grants apply to a file with this digest.
    pub fn covers(&self, digest: &str) -> bool {
        self.follow || self.digest.as_deref() == Some(digest)
    }
}
