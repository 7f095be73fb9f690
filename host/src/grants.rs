//! What a plugin may import, one file a WIT interface. A grant is checked where the import is served, and nowhere else.

pub(crate) mod chat;
mod config;
mod log;
pub(crate) mod process;
mod secrets;
pub(crate) mod sink;
mod stages;
pub(crate) mod tape;
mod toolbox;
pub(crate) mod turn;
pub(crate) mod view;

use crate::plugin::bindings::{Error, types};
use crate::plugin::store::State;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The grants that a plugin holds: `tape:read`, `model:openai:gpt-5`, `tools:memory.*`, `agent`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Grants(BTreeSet<String>);

impl Grants {
    /// Those grants.
    pub fn new(grants: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(grants.into_iter().map(Into::into).collect())
    }

    /// Whether `wanted` is among them. A grant that ends with `*` stands for everything that begins like it.
    pub fn allow(&self, wanted: &str) -> bool {
        self.0.iter().any(|grant| match grant.strip_suffix('*') {
            Some(prefix) => wanted.starts_with(prefix),
            None => grant == wanted,
        })
    }
}

impl types::Host for State {}

impl From<crate::tape::Error> for Error {
    fn from(error: crate::tape::Error) -> Self {
        use crate::plugin::bindings::ErrorKind;
        use crate::tape::Error::{Conflict, InvalidInput, Io, NotFound};
        let kind = match &error {
            Io { .. } => ErrorKind::Temporary,
            NotFound(_) => ErrorKind::NotFound,
            InvalidInput(_) => ErrorKind::InvalidInput,
            Conflict { .. } => ErrorKind::Conflict,
        };
        Self::new(kind, error.to_string())
    }
}
