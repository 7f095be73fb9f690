//! What the host has denied in a turn: each denial is an event on a tape that is kept, counted and bounded.

use super::super::{EPHEMERAL_PREFIX, Turn};
use crate::host::RuntimeEvent;
use crate::plugin::{Plugin, Source};
use bub_types::{Error, ErrorKind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The event that says what the host has denied, and how often.
pub(in super::super) const DENIED: &str = "plugin.denied";

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
    /// What was asked for is out of reach: a path, an address, a session, a sidecar.
    Reach,
    /// The tokens of a day are spent.
    Budget,
    /// Too deep, or too many.
    Limit,
    /// What only the host may write.
    Reserved,
    /// The tool itself: a path outside of what it may open, for one.
    Tool,
}

impl DenialReason {
    fn name(self) -> &'static str {
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

/// One denial. What does not apply is empty.
#[derive(Debug, Clone, Copy)]
pub struct Denial<'a> {
    /// Why it was denied.
    pub reason: DenialReason,
    /// Whose call it was.
    pub plugin: &'a str,
    /// The tool that was not called, by its dotted name.
    pub tool: &'a str,
    /// The grant that was needed, or would have had to reach further.
    pub grant: &'a str,
    /// What the caller was told.
    pub message: &'a str,
}

/// Reason, plugin, tool, grant.
type Key = (DenialReason, String, String, String);

/// The denials of one turn that no event says yet.
#[derive(Debug, Default)]
pub(in super::super) struct Denials {
    /// How often, and what was said first.
    counted: BTreeMap<Key, (u64, String)>,
    /// Those beyond the bound.
    uncounted: u64,
}

impl Denials {
    /// Counts one. Whether it is the first of its kind.
    fn add(&mut self, denial: &Denial<'_>) -> bool {
        let clip = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
        let key = (denial.reason, clip(denial.plugin), clip(denial.tool), clip(denial.grant));
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
    pub(in super::super) fn into_events(self) -> Vec<Value> {
        let counted = self.counted.into_iter().map(|((reason, plugin, tool, grant), (times, message))| {
            let mut data = Map::new();
            data.insert("reason".to_owned(), reason.name().into());
            let texts = [("plugin", plugin), ("tool", tool), ("grant", grant), ("message", message)];
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

impl Turn {
    /// Writes a denial down: in the turn whose tape is kept, this one or the closest around it.
    pub fn denied(&self, denial: Denial<'_>) {
        let is_new = self.kept().audit(|audit| audit.denials.add(&denial));
        // A hook that is not granted is passed over again and again.
        if is_new || denial.reason != DenialReason::Hook {
            let Denial { plugin, tool, grant, .. } = denial;
            let of = if plugin.is_empty() { tool } else { plugin };
            let grant = if grant.is_empty() { denial.reason.name() } else { grant };
            let event = RuntimeEvent::Denied { plugin: of.to_owned(), grant: grant.to_owned() };
            self.scope.host.events.publish(event, &self.outermost().session_id);
        }
    }

    /// A plugin does not hold a grant.
    pub fn refused(&self, plugin: &Plugin, grant: &str) {
        let message = plugin.refusal(grant).message;
        self.denied(Denial { reason: DenialReason::Grant, plugin: &plugin.name, tool: "", grant, message: &message });
    }

    /// A call of a tool was denied with that error.
    pub fn denied_call(&self, reason: DenialReason, plugin: &str, tool: &str, error: &Error) {
        self.denied(Denial { reason, plugin, tool, grant: "", message: &error.message });
    }

    /// A tool has answered with that error. What it only passes on was written down where it was denied.
    pub fn tool_failed(&self, plugin: &str, tool: &str, error: &Error) {
        let is_known = |denials: &Denials| {
            let mut of_plugin = denials.counted.iter().filter(|((_, denied, ..), _)| denied == plugin);
            of_plugin.any(|(_, (_, message))| !message.is_empty() && error.message.contains(message.as_str()))
        };
        if error.kind == ErrorKind::Denied && !self.kept().audit(|audit| is_known(&audit.denials)) {
            self.denied_call(DenialReason::Tool, plugin, tool, error);
        }
    }

    /// Plugins that implement that hook are not asked, because they are not granted it.
    pub fn passes_over_ungranted(&self, hook: &str) {
        // The program's own guests hold what their table says, unless the configuration speaks of them.
        let config = &self.scope.host.config;
        let is_bounded =
            |plugin: &&Arc<Plugin>| plugin.source != Source::Embedded || config.plugins.contains_key(&plugin.name);
        let bounded = self.scope.plugins.exporting(hook).filter(is_bounded);
        for plugin in bounded.filter(|plugin| !self.scope.may_answer(plugin, hook)) {
            let grant = bub_permissions::hook_grant(hook);
            self.denied(Denial {
                reason: DenialReason::Hook,
                plugin: &plugin.name,
                tool: "",
                grant: &grant,
                message: "",
            });
        }
    }

    /// The closest turn around this one, or it itself, whose tape is kept; the outermost where none is.
    fn kept(&self) -> &Self {
        let mut turn = self;
        while turn.session_id.starts_with(EPHEMERAL_PREFIX)
            && let Some(parent) = &turn.parent
        {
            turn = parent;
        }
        turn
    }
}
