//! What the tape will say of a turn, out of context: what was refused to its plugins, what they reached outside, and
//! that text from outside is in it.

mod denial;
mod taint;

use super::Turn;
use crate::plugin::{OpenCircuit, Plugin};
use bub_model::usage::Tokens;
use std::collections::{BTreeMap, BTreeSet};

pub(super) use denial::DENIED;
use denial::Denials;
pub use denial::{Denial, DenialReason};
pub(super) use taint::Taint;
pub use taint::{TAINTED, TaintSource};

/// Different uses that a turn writes down. A guest that asks for ever new names would otherwise fill the tape with them.
const MAX_LINES: usize = 64;

/// Plugin, digest of its bytes, grant.
type Use = (String, String, String);

/// The account of one turn.
#[derive(Default)]
pub(super) struct Audit {
    /// What was denied in it, and in turns inside of it that are not kept.
    pub(super) denials: Denials,
    /// How often a grant was used, and how many bytes came back.
    pub(super) uses: BTreeMap<Use, (u64, u64)>,
    /// Plugins in quarantine of which the turn has said that it goes on without them.
    skipped: BTreeSet<String>,
    /// What its model calls have used.
    spent: Tokens,
    /// Whether text from outside is in the context of this turn.
    pub(super) taint: Taint,
}

impl Audit {
    pub(super) fn new(taint: Taint) -> Self {
        Self { taint, ..Self::default() }
    }
}

impl Turn {
    /// Counts a model call for the turn that was said from outside.
    pub fn spends(&self, tokens: Tokens) {
        self.outermost().audit(|audit| audit.spent.add(tokens));
    }

    /// What the model calls so far have used.
    pub(super) fn spent(&self) -> Tokens {
        self.audit(|audit| audit.spent)
    }

    /// Whether the turn has yet to say that it goes on without that plugin. It is said once.
    pub fn note_skipped(&self, circuit: &OpenCircuit) -> bool {
        self.audit(|audit| audit.skipped.insert(circuit.plugin.clone()))
    }

    /// Counts a use of a grant that reaches outside.
    pub fn used(&self, plugin: &Plugin, grant: &str) {
        self.audit(|audit| {
            if audit.uses.len() < MAX_LINES {
                audit.uses.entry(key(plugin, grant)).or_default().0 += 1;
            }
        });
    }

    /// Counts what came back by such a use.
    pub fn received(&self, plugin: &Plugin, grant: &str, bytes: usize) {
        self.audit(|audit| {
            if let Some((_, all)) = audit.uses.get_mut(&key(plugin, grant)) {
                *all = all.saturating_add(bytes as u64);
            }
        });
    }
}

fn key(plugin: &Plugin, grant: &str) -> Use {
    (plugin.name.clone(), plugin.digest.clone(), grant.to_owned())
}
