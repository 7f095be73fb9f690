//! Why a plugin could not be opened.

use super::fault::{Fault, FaultKind};
use bub_types::text::one_line;
use std::fmt;

/// Why a plugin could not be opened.
#[derive(Debug, Clone)]
pub struct OpenError {
    /// The reason.
    text: String,
    /// Whether a later attempt may succeed: this machine could not, this time. It is not the plugin's fault then.
    pub is_passing: bool,
}

impl OpenError {
    /// It cannot be loaded, for that reason.
    pub(super) fn load(reason: &str) -> Self {
        Self { text: one_line(reason), is_passing: false }
    }

    /// The same, with whether a later attempt may succeed.
    pub(super) fn passing(self, is_passing: bool) -> Self {
        Self { is_passing, ..self }
    }
}

impl OpenError {
    /// The fault of a call that wanted it open.
    pub(crate) fn to_fault(&self) -> FaultKind {
        FaultKind::NotLoaded(self.text.clone())
    }
}

impl From<Fault> for OpenError {
    fn from(fault: Fault) -> Self {
        Self { text: fault.to_string(), is_passing: false }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for OpenError {}
