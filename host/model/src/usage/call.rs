//! Entries of the log.

use super::tokens::Tokens;
use serde::{Deserialize, Serialize};

/// Maximum characters of a name: names come from guests and senders.
const NAME: usize = 200;

/// Maximum characters of a directory.
const PATH: usize = 1_000;

/// A model call, as logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// When it ended: local time with its offset.
    pub at: String,
    /// `provider:model` that answered, which may be a fallback.
    pub model: String,
    /// The session of the turn.
    pub session: String,
    /// The session's directory.
    pub workspace: String,
    /// The calling plugin.
    pub plugin: String,
    /// The purpose that the plugin states: `turn`, `summary`, ...
    pub purpose: String,
    prompt: u64,
    cached: u64,
    completion: u64,
    total: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    estimated: bool,
    /// The host's estimate of the prompt's tokens.
    #[serde(default, skip_serializing_if = "is_none")]
    weighed: u64,
    /// The principal, if not the owner.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caller: String,
}

impl Call {
    /// A call that ends now.
    pub fn now(model: &str, session: &str, workspace: &str, plugin: &str, purpose: &str, tokens: Tokens) -> Self {
        Self {
            at: bub_system::clock::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            model: clipped(model),
            session: clipped(session),
            workspace: clipped_path(workspace),
            plugin: clipped(plugin),
            purpose: clipped(purpose),
            prompt: tokens.prompt,
            cached: tokens.cached,
            completion: tokens.completion,
            total: tokens.total,
            estimated: tokens.is_estimate,
            weighed: 0,
            caller: String::new(),
        }
    }

    /// Sets the principal.
    #[must_use]
    pub fn caused_by(self, caller: &str) -> Self {
        Self { caller: clipped(caller), ..self }
    }

    /// Sets the host's estimate of the prompt.
    pub fn weighed(self, tokens: u64) -> Self {
        Self { weighed: tokens, ..self }
    }

    /// The host's estimate of the prompt's tokens; 0: there is none.
    pub fn estimate(&self) -> u64 {
        self.weighed
    }

    /// Estimated and reported prompt tokens, if the provider reported them.
    pub fn report(&self) -> Option<(u64, u64)> {
        (self.weighed > 0 && !self.estimated).then_some((self.weighed, self.prompt))
    }

    /// The tokens.
    pub fn tokens(&self) -> Tokens {
        Tokens {
            prompt: self.prompt,
            cached: self.cached,
            completion: self.completion,
            total: self.total,
            is_estimate: self.estimated,
        }
    }

    /// Parses a line; `None` if it is invalid or truncated.
    pub fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// The name as logged, clipped: compare with clipped names only.
pub fn clipped(name: &str) -> String {
    name.chars().take(NAME).collect()
}

/// The directory's path as logged, clipped.
pub(super) fn clipped_path(path: &str) -> String {
    path.chars().take(PATH).collect()
}

fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
