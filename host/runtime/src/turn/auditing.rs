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
        self.audit(|audit| {
            if audit.uses.len() < MAX_LINES {
                audit.uses.entry(key(plugin, grant)).or_default().0 += 1;
            }
        });
    }

    /// Counts what came back by such a use.
    pub fn received(&self, plugin: &Plugin, grant: &Grant, bytes: usize) {
        self.audit(|audit| {
            if let Some((_, all)) = audit.uses.get_mut(&key(plugin, grant)) {
                *all = all.saturating_add(bytes as u64);
            }
        });
    }
}

fn key(plugin: &Plugin, grant: &Grant) -> Use {
    (plugin.name.clone(), plugin.digest.clone(), grant.clone())
}
