//! A handle of a program that was started.

use super::error::{Error, Result};
use super::state::ProcessState;
use super::terminate::terminate;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// A handle of a program. Dropping it does nothing to the program, which ends with its turn or its session.
#[derive(Clone)]
pub struct Child {
    state: Arc<ProcessState>,
}

/// A part of what a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// `None` while its shell runs. A shell that a signal ended has the signal's number below zero.
    pub exit_code: Option<i32>,
    /// Standard output and error as they came.
    pub output: String,
    /// Where the next reading begins.
    pub next_offset: u64,
    /// Bytes between the offset that was asked for and `output` that are kept no longer.
    pub gone: u64,
}

impl Output {
    /// The output under a line that says how much is gone, where something is: a guest has no other place to see it.
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

    /// Lets the program outlive its turn, until its session ends. To be called when a guest asks for the id: it wants to
    /// find the program again.
    pub fn keep(&self) {
        self.state.keep();
    }

    /// Waits until the shell has ended, at most `patience`, and answers with all the output that is kept. Whatever else
    /// holds the output open is not waited for.
    pub async fn wait(&self, patience: Duration) -> Output {
        let mut phase = self.state.phase.subscribe();
        // Late or not, the answer is what there is.
        let _ = timeout(patience, phase.wait_for(|phase| phase.exit_code().is_some())).await;
        self.read(0, u32::MAX)
    }

    /// The output from `offset`, at most `max` bytes but at least one character. It is all read when there is an exit code
    /// and `output` is empty.
    pub fn read(&self, offset: u64, max: u32) -> Output {
        let (piece, exit_code) = self.state.read(offset, usize::try_from(max).unwrap_or(usize::MAX));
        Output { exit_code, output: piece.text, next_offset: piece.next, gone: piece.gone }
    }

    /// Ends the whole group: SIGTERM, and SIGKILL to those that are left after three seconds. Goes on when the caller
    /// leaves. Of a group that has ended it is no error.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the group survives, as one that waits for a dead disk or runs as another user does.
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
