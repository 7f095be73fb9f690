//! A handle of a program that was started.

use super::error::{Error, Result};
use super::state::ProcessState;
use super::terminate::terminate;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// A handle of a program. Dropping it does not end the program, which ends with its turn or its session.
#[derive(Clone)]
pub struct Child {
    state: Arc<ProcessState>,
}

/// A part of what a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// `None` while its shell runs. A shell that a signal ended has the signal's number below zero.
    pub exit_code: Option<i32>,
    /// Standard output and error, in order of arrival.
    pub output: String,
    /// The offset for the next read.
    pub next_offset: u64,
    /// Bytes between the requested offset and `output` that were discarded.
    pub gone: u64,
}

impl Output {
    /// The output, after a line that says how much was discarded, if anything: guests see it nowhere else.
    pub fn text(self) -> String {
        match self.gone {
            0 => self.output,
            gone => format!("[{gone} earlier bytes of output are gone]\n{}", self.output),
        }
    }
}

impl Child {
    pub(super) fn new(state: Arc<ProcessState>) -> Self {
        Self { state }
    }

    /// `bash-` and eight hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// Whether a wrapper confines it.
    pub fn is_confined(&self) -> bool {
        self.state.is_confined
    }

    /// Lets the program outlive its turn, until its session ends. Call it when a guest asks for the id, by which it
    /// will find the program later.
    pub fn keep(&self) {
        self.state.keep();
    }

    /// Waits at most `patience` until the shell has ended, and returns all output that is kept. Other processes that
    /// hold the pipe open are not waited for.
    pub async fn wait(&self, patience: Duration) -> Output {
        let mut phase = self.state.phase.subscribe();
        // A timeout is no error: return the output so far.
        let _ = timeout(patience, phase.wait_for(|phase| phase.exit_code().is_some())).await;
        self.read(0, u32::MAX)
    }

    /// Reads the output from `offset`, at most `max` bytes but at least one character. All was read once there is an
    /// exit code and `output` is empty.
    pub fn read(&self, offset: u64, max: u32) -> Output {
        let (piece, exit_code) = self.state.read(offset, usize::try_from(max).unwrap_or(usize::MAX));
        Output { exit_code, output: piece.text, next_offset: piece.next, gone: piece.gone }
    }

    /// Ends the whole group: SIGTERM, and SIGKILL to the rest after three seconds. Continues if the caller is
    /// cancelled. Ending a group that has ended is no error.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the group survives, for example because it waits for a dead disk or runs as another user.
    pub async fn kill(&self) -> Result<()> {
        terminate(vec![Arc::clone(&self.state)]).await;
        if self.state.group.is_gone() {
            return Ok(());
        }
        Err(Error::Io { action: format!("end `{}`", self.id()), source: io::ErrorKind::TimedOut.into() })
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("id", &self.state.id)
            .field("session", &self.state.session)
            .finish_non_exhaustive()
    }
}
