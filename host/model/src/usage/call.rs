//! A line of the log.

use super::tokens::Tokens;
use serde::{Deserialize, Serialize};

/// Maximum characters of a name: names come from guests and senders.
const NAME: usize = 200;

/// The same of a directory.
const PATH: usize = 1_000;

/// A model call, as logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// When it ended: local time with its offset.
    pub at: String,
    /// `provider:model`: the one that answered, where a fallback did.
    pub model: String,
    /// Whose turn it was for.
    pub session: String,
    /// The directory of that session.
    pub workspace: String,
    /// Who made it.
    pub plugin: String,
    /// What that plugin says that it was for: `turn`, `summary`, ...
    pub purpose: String,
    prompt: u64,
    cached: u64,
    completion: u64,
    total: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    estimated: bool,
    /// What the host estimated the prompt at before it was sent.
    #[serde(default, skip_serializing_if = "is_none")]
    weighed: u64,
    /// Whose message it was for, where that is not the owner's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caller: String,
}

impl Call {
    /// A call that ends now.
    pub fn now(model: &str, session: &str, workspace: &str, plugin: &str, purpose: &str, tokens: Tokens) -> Self {
        Self {
            at: jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
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

    /// For a message of that caller's.
    #[must_use]
    pub fn caused_by(self, caller: &str) -> Self {
        Self { caller: clipped(caller), ..self }
    }

    /// With what the host estimated its prompt at.
    pub fn weighed(self, tokens: u64) -> Self {
        Self { weighed: tokens, ..self }
    }

    /// What was estimated and what the provider reported, where it did.
    pub(super) fn report(&self) -> Option<(u64, u64)> {
        (self.weighed > 0 && !self.estimated).then_some((self.weighed, self.prompt))
    }

    /// What it used.
    pub fn tokens(&self) -> Tokens {
        Tokens {
            prompt: self.prompt,
            cached: self.cached,
            completion: self.completion,
            total: self.total,
            is_estimate: self.estimated,
        }
    }

    /// What its line says; none for a line that is none of this log's, or was cut off.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// The name as logged, clipped: compare with clipped names only.
pub(super) fn clipped(name: &str) -> String {
    name.chars().take(NAME).collect()
}

/// The same of a directory's path.
pub(super) fn clipped_path(path: &str) -> String {
    path.chars().take(PATH).collect()
}

fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
