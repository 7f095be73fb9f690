//! `record` and `[recordings]`: which turns are recorded, and how long recordings are kept.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// Which turns are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordMode {
    /// None.
    #[default]
    Off,
    /// Those that fail, and those in which a call of a plugin broke.
    Faults,
    /// All.
    All,
}

impl RecordMode {
    /// Whether turns are collected at all.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// As it is written in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Faults => "faults",
            Self::All => "all",
        }
    }
}

/// `[recordings]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recordings {
    /// Bytes of all recordings.
    pub max_bytes: u64,
    /// Days for which a recording is kept.
    pub days: u64,
}

impl Default for Recordings {
    fn default() -> Self {
        Self { max_bytes: 256 << 20, days: 7 }
    }
}

impl Recordings {
    pub(super) fn check(&self) -> Result<()> {
        [("recordings.max_bytes", self.max_bytes), ("recordings.days", self.days)].into_iter().try_for_each(
            |(key, value)| {
                ensure!(value > 0, "`{key}` of config.toml: `0` is not a positive whole number");
                Ok(())
            },
        )
    }
}
