//! Counts what plugins use and what model calls spend in a turn.

use super::audit::{MAX_LINES, Use};
use super::data::Turn;
use crate::plugin::{OpenCircuit, Plugin};
use bub_model::usage::Tokens;
use bub_permissions::Grant;

impl Turn {
    /// Counts a model call for the turn that was said from outside.
    pub fn spends(&self, tokens: Tokens) {
        self.outermost().audit(|audit| audit.spent.add(tokens));
    }

    /// The tokens that the model calls have used so far.
    pub(super) fn spent(&self) -> Tokens {
        self.audit(|audit| audit.spent)
    }

    /// Whether the turn has yet to say that it goes on without that plugin. It is said once.
    pub fn note_skipped(&self, circuit: &OpenCircuit) -> bool {
        self.audit(|audit| audit.skipped.insert(circuit.plugin.clone()))
    }

    /// Counts a use of a grant that reaches outside.
    pub fn used(&self, plugin: &Plugin, grant: &Grant) {
        self.count(key(plugin, grant, None));
    }

    /// Counts a host that a program of the plugin has reached by that grant.
    pub fn reached(&self, plugin: &Plugin, grant: &Grant, host: &str) {
        self.count(key(plugin, grant, Some(host)));
    }

    fn count(&self, used: Use) {
        self.audit(|audit| {
            if audit.uses.len() < MAX_LINES || audit.uses.contains_key(&used) {
                audit.uses.entry(used).or_default().times += 1;
            }
        });
    }

    /// Counts what came back by such a use.
    pub fn received(&self, plugin: &Plugin, grant: &Grant, bytes: usize) {
        self.audit(|audit| {
            if let Some(amount) = audit.uses.get_mut(&key(plugin, grant, None)) {
                amount.received = amount.received.saturating_add(bytes as u64);
            }
        });
    }

    /// Counts what a program has sent to a host, and what came back.
    pub fn moved(&self, plugin: &Plugin, grant: &Grant, host: &str, sent: u64, received: u64) {
        self.audit(|audit| {
            if let Some(amount) = audit.uses.get_mut(&key(plugin, grant, Some(host))) {
                amount.sent = amount.sent.saturating_add(sent);
                amount.received = amount.received.saturating_add(received);
            }
        });
    }
}

fn key(plugin: &Plugin, grant: &Grant, host: Option<&str>) -> Use {
    (plugin.name.clone(), plugin.digest.clone(), grant.clone(), host.map(str::to_owned))
}
