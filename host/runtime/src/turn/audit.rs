//! The audit of a turn on its tape, out of context: what was refused to its plugins, what they reached outside, and
//! that text from outside is in it.

use super::decision::Decisions;
use super::denial::Denials;
use super::taint::Taint;
use bub_model::usage::Tokens;
use bub_permissions::Grant;
use std::collections::{BTreeMap, BTreeSet};

/// Different uses that a turn writes down. A guest that asks for ever new names would otherwise fill the tape with them.
pub(super) const MAX_LINES: usize = 64;

/// Plugin, digest of its bytes, grant, and the host that a program reached by it.
pub(super) type Use = (String, String, Grant, Option<String>);

/// How often something was used, and how many bytes came back and were sent.
#[derive(Debug, Default)]
pub(super) struct Amount {
    pub(super) times: u64,
    pub(super) received: u64,
    /// Counted for programs alone.
    pub(super) sent: u64,
}

/// Receipts that are not written yet.
#[derive(Default)]
pub(super) struct Receipts {
    pub(super) waiting: Vec<serde_json::Value>,
    /// Of those that were too many, the number.
    pub(super) omitted: u64,
}

/// The account of one turn.
#[derive(Default)]
pub(super) struct Audit {
    /// The denials in it, and in turns inside of it that are not kept.
    pub(super) denials: Denials,
    /// What the policy decided.
    pub(super) decisions: Decisions,
    /// What was used.
    pub(super) uses: BTreeMap<Use, Amount>,
    /// Plugins in quarantine of which the turn has said that it goes on without them.
    pub(super) skipped: BTreeSet<String>,
    /// The tokens that its model calls have used.
    pub(super) spent: Tokens,
    /// What was done outside and is not on the tape yet, of the outermost turn alone.
    pub(super) receipts: Receipts,
    /// Whether text from outside is in the context of this turn.
    pub(super) taint: Taint,
}

impl Audit {
    pub(super) fn new(taint: Taint) -> Self {
        Self { taint, ..Self::default() }
    }
}
