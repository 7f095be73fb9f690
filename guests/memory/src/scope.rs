//! Scopes of memory.

use bub_guest::Schema;
use serde::Deserialize;

/// Which of the two zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Schema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// shared by all sessions of this workspace.
    Workspace,
    /// this conversation's own.
    Session,
}

/// Both, in display order.
pub const ALL: [Scope; 2] = [Scope::Workspace, Scope::Session];

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Session => "session",
        }
    }

    /// The name for headings.
    pub fn whose(self) -> &'static str {
        match self {
            Self::Workspace => "",
            Self::Session => " of this Session",
        }
    }
}
