//! What the user says of plugins: by name, and of those that a workspace brings along by their bytes.

use super::limits::LimitsTable;
use bub_permissions::Grants;
use serde::Deserialize;
use std::path::PathBuf;

/// What a fault of a plugin does to the turn, where the hook itself does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    /// It ends the turn.
    #[default]
    Fail,
    /// The next plugin is asked.
    Skip,
    /// The plugin is a gate: what it was asked about is denied.
    Deny,
}

/// `[plugins.NAME]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plugin {
    /// Whether it is loaded.
    pub enabled: bool,
    /// What it may do; none: the embedded table for an embedded guest, nothing for any other.
    pub grants: Option<Grants>,
    /// SHA-256 of the bytes that the grants were given to, in hex.
    pub digest: Option<String>,
    /// Tokens that it may spend at the model in a day, local time.
    pub daily_tokens: Option<u64>,
    /// The grants hold for whatever bytes stand under the name: for what one builds oneself.
    pub follow: bool,
    /// What its faults do.
    pub on_fault: OnFault,
    /// Its own limits, over those of all.
    pub(super) limits: LimitsTable,
    /// What `bub:plugin/config` answers.
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

/// `[trusted_plugins.DIGEST]`: a workspace's plugin that may run. What stands here is about its bytes, in whichever
/// workspace they lie; no table of a name is, because anybody can give a file any name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trusted {
    /// Where the file lay when it was trusted, for people.
    pub file: PathBuf,
    /// What it may do.
    pub grants: Grants,
    /// What its faults do.
    pub on_fault: OnFault,
    /// Its own limits, over those of all.
    pub(super) limits: LimitsTable,
    /// What `bub:plugin/config` answers.
    pub config: serde_json::Map<String, serde_json::Value>,
}

impl Trusted {
    /// The same, as it would stand under a name.
    pub fn settings(self) -> Plugin {
        let Self { grants, on_fault, limits, config, .. } = self;
        Plugin { grants: Some(grants), on_fault, limits, config, ..Plugin::default() }
    }
}

impl Plugin {
    /// One that is not loaded.
    pub fn off() -> Self {
        Self { enabled: false, ..Self::default() }
    }

    /// The same with these grants, for whatever bytes come.
    pub fn holding(self, grants: Vec<String>) -> Self {
        Self { grants: Some(Grants::new(grants)), digest: None, follow: true, ..self }
    }

    /// With these limits and no others, as they are told of a call that broke.
    ///
    /// # Errors
    ///
    /// They are no limits.
    pub fn limited(self, limits: serde_json::Value) -> Result<Self, String> {
        let limits: LimitsTable = serde_json::from_value(limits).map_err(|error| error.to_string())?;
        Ok(Self { limits: limits.bearable(), ..self })
    }

    /// Whether the grants were given to these bytes.
    pub fn covers(&self, digest: &str) -> bool {
        self.follow || self.digest.as_deref() == Some(digest)
    }
}
