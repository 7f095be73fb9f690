//! Calls into plugins: hooks, and functions of contracts that have several.

use super::spec::{Deadline, Replay};
use super::table::Hook;
use serde::{Serialize, Serializer};
use std::fmt;

/// A call into a plugin. Faults, deadlines and statistics are counted by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// A hook.
    Hook(Hook),
    /// A tool of `tools`.
    Tool,
    /// A model call of `provider`.
    Complete,
    /// A command of `commands`.
    RunCommand,
    /// `channel`: asks for messages.
    Poll,
    /// `channel`: hands over a webhook.
    Receive,
    /// `channel`: delivers a message.
    Send,
    /// `channel`: changes a message that was delivered.
    Update,
    /// The calls that load a plugin, outside of any turn.
    Load,
}

impl Call {
    /// The functions that are called apart from a hook.
    const FUNCTIONS: [Self; 8] =
        [Self::Tool, Self::Complete, Self::RunCommand, Self::Poll, Self::Receive, Self::Send, Self::Update, Self::Load];

    /// The name in messages, reports and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook(hook) => hook.name(),
            Self::Tool => "call-tool",
            Self::Complete => "complete",
            Self::RunCommand => "run-command",
            Self::Poll => "poll",
            Self::Receive => "receive",
            Self::Send => "send",
            Self::Update => "update",
            Self::Load => "load",
        }
    }

    /// The call of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let function = || Self::FUNCTIONS.into_iter().find(|call| call.name() == name);
        Hook::from_name(name).map(Self::Hook).or_else(function)
    }

    /// The hook that is called, unless it is a function of another contract.
    pub fn hook(self) -> Option<Hook> {
        match self {
            Self::Hook(hook) => Some(hook),
            _ => None,
        }
    }

    /// The name of its stage in events and in `on-error`.
    pub fn stage(self) -> &'static str {
        self.hook().map_or("turn", |hook| hook.spec().stage)
    }

    /// How long it may take.
    pub fn deadline(self) -> Deadline {
        match self {
            Self::Hook(hook) => hook.spec().deadline,
            Self::Tool | Self::Complete | Self::RunCommand | Self::Poll => Deadline::Turn,
            Self::Receive | Self::Send | Self::Update => Deadline::Delivery,
            Self::Load => Deadline::Plugin,
        }
    }

    /// How a recorded call is repeated.
    pub fn replay(self) -> Replay {
        match self {
            Self::Hook(hook) => hook.spec().replay,
            Self::Tool | Self::Complete => Replay::InTurn,
            Self::RunCommand => Replay::Outside,
            Self::Poll | Self::Receive | Self::Send | Self::Update => Replay::Channel,
            Self::Load => Replay::Unknown,
        }
    }
}

impl From<Hook> for Call {
    fn from(hook: Hook) -> Self {
        Self::Hook(hook)
    }
}

impl PartialEq<Hook> for Call {
    fn eq(&self, hook: &Hook) -> bool {
        self.hook() == Some(*hook)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::super::HOOKS;
    use super::Call;

    #[test]
    fn every_call_is_found_by_its_name() {
        let hooks = HOOKS.iter().map(|spec| Call::Hook(spec.hook));
        for call in hooks.chain(Call::FUNCTIONS) {
            assert_eq!(Call::from_name(call.name()), Some(call));
        }
        assert_eq!(Call::from_name("describe"), None);
    }

    #[test]
    fn a_row_of_the_table_is_at_the_place_of_its_hook() {
        for spec in HOOKS {
            assert_eq!(spec.hook.name(), spec.name);
        }
    }
}
