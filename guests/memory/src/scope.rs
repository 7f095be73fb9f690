//! Whose memory is meant.

use crate::{Error, ErrorKind, error};

/// Which of the two zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// On the workspace's own tape, which all its sessions read.
    Workspace,
    /// On the session's tape.
    Session,
}

/// Both, in the order in which they are shown.
pub const ALL: [Scope; 2] = [Scope::Workspace, Scope::Session];

impl Scope {
    /// As an argument has it.
    ///
    /// # Errors
    ///
    /// `invalid-input`, when there is no such scope.
    pub fn named(name: &str) -> Result<Self, Error> {
        let named = ALL.into_iter().find(|scope| scope.name() == name);
        let wrong = || format!("there is no scope `{name}`: it is `workspace` or `session`");
        named.ok_or_else(|| error(ErrorKind::InvalidInput, wrong()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Session => "session",
        }
    }

    /// For headings.
    pub fn whose(self) -> &'static str {
        match self {
            Self::Workspace => "",
            Self::Session => " of this Session",
        }
    }
}
