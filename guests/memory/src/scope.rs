//! Scopes of memory.

use crate::{Error, ErrorKind, error};

/// The scope of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The workspace's own tape, which all its sessions read.
    Workspace,
    /// The session's tape.
    Session,
}

/// Both, in display order.
pub const ALL: [Scope; 2] = [Scope::Workspace, Scope::Session];

impl Scope {
    /// Parses an argument.
    ///
    /// # Errors
    ///
    /// `invalid-input` if there is no such scope.
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

    /// The name for headings.
    pub fn whose(self) -> &'static str {
        match self {
            Self::Workspace => "",
            Self::Session => " of this Session",
        }
    }
}
