//! Rules of the user for tool calls.

use bub_permissions::policy::ApprovalMode;
use bub_permissions::policy::run_later::RunsLater;
use serde::Deserialize;

/// `[policy]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// When tool calls need the owner's approval.
    pub approve: ApprovalMode,
    /// Whether destructive commands need approval even when `approve` asks about nothing.
    pub ask_destructive: bool,
    /// Further files that are executed later: writing them has the effect `run`.
    pub runs_later: RunsLater,
    /// Effects that the command line of this process approved in advance.
    #[serde(skip)]
    pub allowed: Vec<String>,
}

impl Policy {
    /// Whether a call with this effect was approved in advance.
    pub fn allows(&self, effect: &str) -> bool {
        self.approve == ApprovalMode::All || self.allowed.iter().any(|allowed| allowed == effect)
    }

    /// Restricts the policy for a server: skipping all approvals is possible for a single run only.
    pub fn unattended(&mut self) {
        if self.approve == ApprovalMode::All {
            tracing::warn!("`approve = \"all\"` of `[policy]` is for `run` and `chat`: `serve` goes by `auto`");
            self.approve = ApprovalMode::Auto;
        }
    }
}
