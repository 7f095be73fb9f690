//! The objects that guests hold handles to. The methods that guests call on them are in `imports`.

use crate::host::Confined;
use crate::turn::Turn;
use bub_model::Event;
use bub_permissions::Grant;
use bub_system::process;
use bub_tape::Tape;
use bub_types::{Error, Principal};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

/// A guest's handle of the turn. It goes with the instance; the turn lives until it ends.
#[derive(Clone)]
pub struct TurnHandle(pub Arc<Turn>);

/// A tape in a guest's hands.
#[derive(Clone)]
pub struct TapeHandle {
    pub(crate) tape: Tape,
    /// The turn that the guest has it for: it knows which run ids it gave out.
    pub(crate) turn: Arc<Turn>,
    /// Whether it is the workspace's own, which all its sessions read.
    pub(crate) is_shared: bool,
}

impl TapeHandle {
    /// A handle to `tape` for a call of `turn`.
    pub fn new(tape: Tape, turn: Arc<Turn>) -> Self {
        Self { tape, turn, is_shared: false }
    }

    /// The workspace's own tape.
    pub fn shared(tape: Tape, turn: Arc<Turn>) -> Self {
        Self { is_shared: true, ..Self::new(tape, turn) }
    }

    /// Another tape by way of this one: its fork, its sidecar.
    pub(crate) fn beside(&self, tape: Tape) -> Self {
        Self { tape, turn: Arc::clone(&self.turn), is_shared: self.is_shared }
    }

    /// Refuses to change what all sessions of the workspace read, unless it is the owner who speaks.
    pub(crate) fn may_change(&self) -> Result<(), Error> {
        match self.turn.principal() {
            Principal::Owner => Ok(()),
            _ if !self.is_shared => Ok(()),
            _ => {
                Err(Error::denied("only the owner may write to the workspace's own tape, which all its sessions read"))
            }
        }
    }
}

/// A position in a result. It holds what it reads from, so that it outlives the handle it came from.
pub struct Cursor {
    pub(crate) cursor: bub_tape::Cursor,
    pub(crate) turn: Arc<Turn>,
}

/// The reader's end of a model call that a guest answers.
pub struct Sink(pub mpsc::Sender<Event>);

/// A program that a guest started or found.
pub struct Child {
    pub(crate) program: process::Child,
    /// What is known of its sandbox; none: it has none.
    pub(crate) confined: Option<Confined>,
    /// Left when the guest drops the program; none: another call has started it.
    pub(crate) receipt: Option<ProgramReceipt>,
}

/// The receipt of a program.
pub(crate) struct ProgramReceipt {
    pub(crate) turn: Arc<Turn>,
    pub(crate) plugin: String,
    pub(crate) grant: Grant,
    /// The first word of the command.
    pub(crate) program: String,
    /// SHA-256 of the command.
    pub(crate) command: String,
    pub(crate) is_confined: bool,
    /// None: it has not ended.
    pub(crate) exit: Option<i32>,
    pub(crate) began: Instant,
}

impl Drop for ProgramReceipt {
    fn drop(&mut self) {
        let receipt = serde_json::json!({
            "plugin": self.plugin,
            "grant": self.grant,
            "program": self.program,
            "command_sha256": self.command,
            "sandbox": self.is_confined,
            "exit": self.exit,
            "ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        self.turn.receipt("program", receipt);
    }
}

/// A server that a guest opened.
pub struct Server(pub(crate) process::Server);
