//! The columns of the table of hooks.

use super::Hook;

/// How the plugins that implement a hook are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchMode {
    /// One after the other until one returns a result.
    FirstResult,
    /// All of them.
    Broadcast,
    /// All of them; each gets the changes of the one before.
    Chain,
    /// All of them; their faults are ignored.
    Observer,
}

impl DispatchMode {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstResult => "first result",
            Self::Broadcast => "broadcast",
            Self::Chain => "chain",
            Self::Observer => "observer",
        }
    }
}

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// As long as the plugin's own short deadline.
    Plugin,
    /// As long as the turn: the call waits for a model or a person.
    Turn,
    /// Longer than the plugin's deadline, because a model may be asked once more behind the answer.
    AfterTurn,
    /// Longer than the plugin's deadline, because the call goes over the network.
    Delivery,
}

/// How a recorded call is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// In a turn.
    InTurn,
    /// In a turn; its errors are not returned.
    Isolated,
    /// Without a turn.
    Outside,
    /// With a turn, or without one.
    Anywhere,
    /// As a function of its channel.
    Channel,
    /// Not at all, for this reason.
    Never(&'static str),
    /// Not at all: no call is recorded under this name.
    Unknown,
}

/// A hook: its WIT interface, dispatch mode, stage and privileges.
#[derive(Debug)]
pub struct HookSpec {
    /// The hook.
    pub hook: Hook,
    /// The name in messages: that of the WIT interface.
    pub name: &'static str,
    /// The grant that a plugin needs to be called.
    pub grant: &'static str,
    /// How plugins are called.
    pub way: DispatchMode,
    /// The name in events and in `on-error`.
    pub stage: &'static str,
    /// The data that an implementation sees and can change, shown when the user grants the hook.
    pub power: &'static str,
    /// Whether it sees messages of people or of the model.
    pub listens: bool,
    /// Whether it decides what a model is told.
    pub steers: bool,
    /// Whether it is called by name only, and needs no grant.
    pub is_called_by_name: bool,
    /// How long a call may take.
    pub deadline: Deadline,
    /// How a recorded call is repeated.
    pub replay: Replay,
}

impl HookSpec {
    pub(super) const fn new(
        hook: Hook,
        (name, grant): (&'static str, &'static str),
        way: DispatchMode,
        stage: &'static str,
        power: &'static str,
    ) -> Self {
        Self {
            hook,
            name,
            grant,
            way,
            stage,
            power,
            listens: true,
            steers: false,
            is_called_by_name: false,
            deadline: Deadline::Plugin,
            replay: Replay::InTurn,
        }
    }

    pub(super) const fn without_conversation(self) -> Self {
        Self { listens: false, ..self }
    }

    pub(super) const fn steering(self) -> Self {
        Self { steers: true, ..self }
    }

    pub(super) const fn called_by_name(self) -> Self {
        Self { is_called_by_name: true, ..self }
    }

    pub(super) const fn grant(self, grant: &'static str) -> Self {
        Self { grant, ..self }
    }

    pub(super) const fn deadline(self, deadline: Deadline) -> Self {
        Self { deadline, ..self }
    }

    pub(super) const fn replay(self, replay: Replay) -> Self {
        Self { replay, ..self }
    }
}
