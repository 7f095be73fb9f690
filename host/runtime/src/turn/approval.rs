//! When tool calls of a turn need the owner's approval.

use super::data::Turn;
use super::options::ApprovalRules;
use bub_permissions::policy::ApprovalMode;

impl Turn {
    /// The approval mode: that of the outermost turn's sender, where it has one, else the configuration's.
    pub fn approval_mode(&self) -> ApprovalMode {
        self.with_rules(|rules| rules.mode).unwrap_or(self.scope.host.config.policy.approve)
    }

    /// Whether calls with this effect were approved in advance.
    pub fn is_approved(&self, effect: &str) -> bool {
        let approved = self.with_rules(|rules| {
            rules.mode == ApprovalMode::All || rules.allowed.iter().any(|allowed| allowed == effect)
        });
        approved.unwrap_or_else(|| self.scope.host.config.policy.allows(effect))
    }

    fn with_rules<T>(&self, read: impl FnOnce(&ApprovalRules) -> T) -> Option<T> {
        self.outermost().options.approval.as_ref().map(|rules| read(&rules.borrow()))
    }
}
