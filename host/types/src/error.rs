//! Errors that plugins and the host exchange.

use crate::Json;
use serde::{Deserialize, Serialize};
#[cfg(feature = "component")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// The kind of an error, by which callers decide what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum ErrorKind {
    /// The argument violates the contract.
    #[cfg_attr(feature = "component", component(name = "invalid-input"))]
    InvalidInput,
    /// The configuration is wrong.
    #[cfg_attr(feature = "component", component(name = "config"))]
    Config,
    /// The model or its provider failed, and a retry does not help.
    #[cfg_attr(feature = "component", component(name = "provider"))]
    Provider,
    /// The messages exceed the model's context window.
    #[cfg_attr(feature = "component", component(name = "context-length"))]
    ContextLength,
    /// A tool failed.
    #[cfg_attr(feature = "component", component(name = "tool"))]
    Tool,
    /// A retry may help.
    #[cfg_attr(feature = "component", component(name = "temporary"))]
    Temporary,
    /// Nothing has that name.
    #[cfg_attr(feature = "component", component(name = "not-found"))]
    NotFound,
    /// A grant is missing.
    #[cfg_attr(feature = "component", component(name = "denied"))]
    Denied,
    /// Another writer was first.
    #[cfg_attr(feature = "component", component(name = "conflict"))]
    Conflict,
    /// The caller no longer needs the answer.
    #[cfg_attr(feature = "component", component(name = "cancelled"))]
    Cancelled,
    /// Any other error.
    #[cfg_attr(feature = "component", component(name = "unknown"))]
    Unknown,
}

/// A failure as a plugin may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// For people, on one line.
    pub message: String,
    /// Details for programs.
    pub details: Option<Json>,
}

impl Error {
    /// An error of that kind, without details.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }

    /// An argument violates the contract.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// A grant is missing, or calls are nested too deeply.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message)
    }

    /// The caller no longer needs the answer.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the receiver is gone")
    }
}

impl ErrorKind {
    /// The name on tapes.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::Config => "config",
            Self::Provider => "provider",
            Self::ContextLength => "context_length",
            Self::Tool => "tool",
            Self::Temporary => "temporary",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Conflict => "conflict",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Error {}
