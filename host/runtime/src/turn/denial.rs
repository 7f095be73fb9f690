//! The denials of the host in a turn: each denial is an event on a tape that is kept, counted and bounded.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The event that says what the host has denied, and how often.
pub const DENIED: &str = "plugin.denied";

/// Different denials that a turn writes down. A guest that asks for ever new names would otherwise fill the tape with them.
const MAX_DENIALS: usize = 64;

/// Characters of a name or a message that are written down.
const MAX_TEXT: usize = 300;

/// Why the host denies something. The word stands in the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DenialReason {
    /// The plugin does not hold the grant.
    Grant,
    /// The plugin exports a hook that it is not granted, and was not asked.
    Hook,
    /// The rules for tool calls: who caused the turn, taint, effect.
    Policy,
    /// The owner said no, or could not be asked.
    Approval,
    /// A gate or another plugin in front of the tool.
    Gate,
    /// The requested target is out of reach: a path, an address, a session, a sidecar.
    Reach,
    /// The tokens of a day are spent.
    Budget,
    /// Too deep, or too many.
    Limit,
    /// The target is reserved: only the host may write it.
    Reserved,
    /// The tool itself: a path outside of what it may open, for one.
    Tool,
}

impl DenialReason {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Hook => "hook",
            Self::Policy => "policy",
            Self::Approval => "approval",
            Self::Gate => "gate",
            Self::Reach => "reach",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Reserved => "reserved",
            Self::Tool => "tool",
        }
    }
}

/// One denial. Fields that do not apply are empty.
#[derive(Debug, Clone, Copy)]
pub struct Denial<'a> {
    /// Why it was denied.
    pub reason: DenialReason,
    /// The plugin that made the call.
    pub plugin: &'a str,
    /// The tool that was not called, by its dotted name.
    pub tool: &'a str,
    /// The grant that was needed, or would have had to reach further.
    pub grant: &'a str,
    /// The host that a program was kept from.
    pub host: &'a str,
    /// The error message that the caller got.
    pub message: &'a str,
}

/// Reason, plugin, tool, grant, host.
type Key = (DenialReason, String, String, String, String);

/// The denials of one turn that no event says yet.
#[derive(Debug, Default)]
pub(super) struct Denials {
    /// How often, and what was said first.
    pub(super) counted: BTreeMap<Key, (u64, String)>,
    /// Those beyond the bound.
    uncounted: u64,
}

impl Denials {
    /// Counts one. Whether it is the first of its kind.
    pub(super) fn add(&mut self, denial: &Denial<'_>) -> bool {
        let clip = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
        let key = (denial.reason, clip(denial.plugin), clip(denial.tool), clip(denial.grant), clip(denial.host));
        if let Some((times, _)) = self.counted.get_mut(&key) {
            *times += 1;
            return false;
        }
        if self.counted.len() >= MAX_DENIALS {
            self.uncounted += 1;
            return false;
        }
        self.counted.insert(key, (1, clip(denial.message)));
        true
    }

    /// The data of an event for each.
    pub(super) fn into_events(self) -> Vec<Value> {
        let counted = self.counted.into_iter().map(|((reason, plugin, tool, grant, host), (times, message))| {
            let mut data = Map::new();
            data.insert("reason".to_owned(), reason.name().into());
            let texts = [("plugin", plugin), ("tool", tool), ("grant", grant), ("host", host), ("message", message)];
            for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
                data.insert(key.to_owned(), text.into());
            }
            data.insert("times".to_owned(), times.into());
            Value::Object(data)
        });
        let uncounted =
            (self.uncounted > 0).then(|| serde_json::json!({ "reason": "others", "times": self.uncounted }));
        counted.chain(uncounted).collect()
    }
}
