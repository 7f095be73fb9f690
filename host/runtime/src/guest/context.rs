//! The context of a guest call.

use crate::plugin::Caller;
use crate::plugin::quarantine::CircuitKey;
use crate::plugin::recording::{CallPlace, CallRecording, TurnRecorder};
use crate::turn::Turn;
use bub_types::hook::Call;
use std::sync::{Arc, LazyLock};

/// The context of a call: its export, its turn and its nesting depth.
#[derive(Clone)]
pub struct CallContext {
    /// The called function.
    pub call: Call,
    /// The turn, if the call has one.
    pub turn: Option<Arc<Turn>>,
    /// How many other calls this one is nested in.
    pub depth: u32,
    /// Replaces the session where there is no turn.
    about: Option<Arc<str>>,
    /// The caller where there is no turn, if it is known.
    caller: Option<Caller>,
    /// Collects the calls of the turn that it belongs to, where there is no turn yet, or none any more.
    recorder: Option<Arc<TurnRecorder>>,
    /// The recording of the call.
    pub(super) recording: CallRecording,
}

impl CallContext {
    /// A call without a turn.
    pub fn outside(call: impl Into<Call>) -> Self {
        Self {
            call: call.into(),
            turn: None,
            depth: 0,
            about: None,
            caller: None,
            recorder: None,
            recording: CallRecording::default(),
        }
    }

    /// A call without a turn, for a message or a tape: faults are counted for that session.
    pub fn about(call: impl Into<Call>, session: &str) -> Self {
        Self { about: Some(session.into()), ..Self::outside(call) }
    }

    /// Sets the caller.
    pub fn caused_by(self, caller: Caller) -> Self {
        Self { caller: Some(caller), ..self }
    }

    /// Records the call, or plays a recorded one back.
    pub(super) fn recorded(self, recording: CallRecording) -> Self {
        Self { recording, ..self }
    }

    /// Sets what collects the calls of its turn.
    pub fn collected_by(self, recorder: Option<Arc<TurnRecorder>>) -> Self {
        Self { recorder, ..self }
    }

    /// What collects the calls of its turn, if the turn is recorded.
    pub(super) fn turn_recorder(&self) -> Option<&Arc<TurnRecorder>> {
        self.turn.as_ref().and_then(|turn| turn.scope.recorder.as_ref()).or(self.recorder.as_ref())
    }

    /// Its place among the calls of its turn.
    pub(super) fn place(&self) -> CallPlace {
        CallPlace { turn: self.turn.as_ref().map(|turn| turn.id.clone()), depth: self.depth }
    }

    /// The key of the call's circuit, for the quarantine: its plugin, hook and caller.
    pub fn circuit_key(&self) -> CircuitKey<'_> {
        static UNKNOWN: LazyLock<Caller> = LazyLock::new(Caller::unknown);
        let caller = self.turn.as_ref().map(|turn| turn.caller()).or(self.caller.as_ref());
        CircuitKey { hook: self.call.name(), caller: caller.unwrap_or(&UNKNOWN), session: self.session() }
    }

    /// The session of the call; empty if there is none.
    pub fn session(&self) -> &str {
        let turn = self.turn.as_ref().map(|turn| turn.session_id.as_str());
        turn.or(self.about.as_deref()).unwrap_or_default()
    }

    /// A call that the host makes by itself on behalf of a turn.
    pub fn for_turn(call: impl Into<Call>, turn: &Arc<Turn>) -> Self {
        Self::inside(call, turn, 0)
    }

    /// A call that sits in `depth` others.
    pub fn inside(call: impl Into<Call>, turn: &Arc<Turn>, depth: u32) -> Self {
        Self { turn: Some(turn.clone()), depth, ..Self::outside(call) }
    }
}
