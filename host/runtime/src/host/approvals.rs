//! The owner's decisions about tool calls, for as long as this process runs.

use crate::plugin::effect_name;
use bub_tape::json;
use bub_types::Effect;
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Decisions that are remembered.
const MAX_ANSWERS: usize = 4096;

/// The subject of an answer that is to last: one call, or one tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ApprovalKey {
    session: String,
    asker: String,
    tool: String,
    /// The version of the tool when the owner was asked: the digest of its plugin.
    plugin: String,
    /// The effect of the call, and SHA-256 of its arguments as [`json::normalise`] prints them. None: every call of the
    /// tool, which only a refusal may mean.
    call: Option<(&'static str, [u8; 32])>,
}

impl ApprovalKey {
    /// All calls of a tool in a session, for one asker.
    pub(crate) fn new(session: &str, asker: &str, tool: &str, plugin_digest: &str) -> Self {
        let [session, asker, tool, plugin] = [session, asker, tool, plugin_digest].map(str::to_owned);
        Self { session, asker, tool, plugin, call: None }
    }

    /// The same for a call with that effect and exactly these arguments. Members keep their order and their number: a tool may
    /// make another call of them than the one that the owner saw.
    pub(crate) fn with_call(self, effect: Effect, arguments: &str) -> Self {
        let normal = json::normalise(arguments);
        let arguments = normal.as_deref().unwrap_or(arguments);
        Self { call: Some((effect_name(effect), Sha256::digest(arguments).into())), ..self }
    }
}

/// The answers that last for this process: calls that are made without asking, and tools that are not called.
#[derive(Default)]
pub struct Approvals(Mutex<HashMap<ApprovalKey, bool>>);

impl Approvals {
    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalKey, bool>> {
        self.0.lock()
    }

    pub(crate) fn get(&self, key: &ApprovalKey) -> Option<bool> {
        self.lock().get(key).copied()
    }

    pub(crate) fn keep(&self, keys: impl IntoIterator<Item = ApprovalKey>, may: bool) {
        let mut kept = self.lock();
        for key in keys {
            if kept.len() < MAX_ANSWERS || kept.contains_key(&key) {
                kept.insert(key, may);
            }
        }
    }
}
