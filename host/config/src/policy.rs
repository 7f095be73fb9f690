//! What the user adds to the rules by which tool calls are judged.

use bub_permissions::policy::ApprovalMode;
use bub_permissions::policy::run_later::RunsLater;
use serde::Deserialize;

/// `[policy]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// When the owner is asked about tool calls.
    pub approve: ApprovalMode,
    /// Whether the owner is asked about destructive commands also where nothing else is asked about.
    pub ask_destructive: bool,
    /// Files that run later, beside those that the host knows: to write them is `run`.
    pub runs_later: RunsLater,
    /// Effects that the owner has allowed beforehand, by what this process was started with.
    #[serde(skip)]
    pub allowed: Vec<String>,
}

impl Policy {
    /// Whether the owner has said beforehand that a call of that effect, which would be asked about, may be made.
    pub fn allows(&self, effect: &str) -> bool {
        self.approve == ApprovalMode::All || self.allowed.iter().any(|allowed| allowed == effect)
    }

    /// The same for a server. What lets everything happen unasked is said for one run, by whoever starts it, and not for
    /// whatever reaches a server.
    pub fn unattended(&mut self) {
        if self.approve == ApprovalMode::All {
            tracing::warn!("`approve = \"all\"` of `[policy]` is for `run` and `chat`: `serve` goes by `auto`");
            self.approve = ApprovalMode::Auto;
        }
    }
}
