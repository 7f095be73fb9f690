//! Rules that an answer of the owner keeps.

use super::commands::CommandRule;
use std::fmt::{self, Display, Formatter};

/// A rule that the answer to a question can keep in config.toml. Shown as it will stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptRule {
    /// For a command: one of `[[process.rules]]`.
    Command(CommandRule),
    /// For a host that programs reach: one of `allow_hosts` of `[process]`.
    Host(String),
}

impl Display for KeptRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(rule) => rule.fmt(f),
            Self::Host(host) => write!(f, "allow_hosts = [{}]", serde_json::Value::from(host.as_str())),
        }
    }
}
