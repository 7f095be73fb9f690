//! Approval modes of tool calls.

use serde::Deserialize;
use std::fmt::{self, Display, Formatter};

/// When the owner's own turns need approval. It does not affect other principals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Before each call that does more than read.
    Ask,
    /// For calls that do more than read, once the turn is tainted.
    #[default]
    Auto,
    /// Never: calls that do more than read are refused.
    ReadOnly,
    /// Never: all calls are made.
    All,
}

impl ApprovalMode {
    /// The names of all modes in the configuration.
    pub const NAMES: [&'static str; 4] = ["ask", "auto", "read-only", "all"];

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "ask" => Self::Ask,
            "auto" => Self::Auto,
            "read-only" => Self::ReadOnly,
            "all" => Self::All,
            _ => return None,
        })
    }

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::ReadOnly => "read-only",
            Self::All => "all",
        }
    }
}

impl Display for ApprovalMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
