//! The supervisor task of a program: it reads the output, waits for the shell and reaps the group.

use super::starter::Guard;
use super::state::{Phase, ProcessState};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Size of a read.
const READ_BYTES: usize = 16 << 10;

/// Capacity of a pipe, which may still be unread when a shell exits.
const PIPE_BYTES: usize = 64 << 10;

/// How long to read output after the shell exited. Other processes may keep the pipe open.
const SETTLE_TIME: Duration = Duration::from_millis(100);

/// Polling interval for a group without its shell; it doubles up to [`MAX_POLL`].
const MIN_POLL: Duration = Duration::from_millis(20);
const MAX_POLL: Duration = Duration::from_millis(500);

/// Exit code for an unknown exit status.
const UNKNOWN_EXIT: i32 = 255;

/// Supervises a program until its group is empty. Output is read throughout, since a full pipe would block the program.
/// The guard is dropped at its end.
pub(super) async fn supervise(state: Arc<ProcessState>, mut shell: Child, pipe: Receiver, guard: Guard) {
    // If the runtime drops this task, the group is killed.
    let _last = Last(Arc::clone(&state));
    let mut output = Output { state: &state, pipe, buffer: vec![0; READ_BYTES], open: true };
    let status = loop {
        tokio::select! {
            status = shell.wait() => break status,
            _ = output.read(), if output.open => {}
        }
    };
    state.group.leader_exited();
    output.drain().await;

    let code = code(status);
    if !state.group.is_gone() {
        state.phase.send_replace(Phase::Left(code));
        let mut look = MIN_POLL;
        while !state.group.is_gone() {
            if output.wait(look).await.is_none() {
                look = MAX_POLL.min(look * 2);
            }
        }
        output.drain().await;
    }
    // A process that still holds the pipe has left the group; its output is ignored.
    state.group.reap_group();
    drop(guard);
    state.close(code);
}

/// The read end of a program's output.
struct Output<'a> {
    state: &'a ProcessState,
    pipe: Receiver,
    buffer: Vec<u8>,
    /// Whether the pipe is still open.
    open: bool,
}

impl Output<'_> {
    /// Reads available output or waits for it; returns its length. Cancellation-safe.
    async fn read(&mut self) -> usize {
        match self.pipe.read(&mut self.buffer).await {
            Ok(count) if count > 0 => {
                self.state.push(self.buffer.get(..count).unwrap_or_default());
                count
            }
            Ok(_) | Err(_) => {
                self.open = false;
                0
            }
        }
    }

    /// Like `read`, for at most `patience`: `None` if nothing came.
    async fn wait(&mut self, patience: Duration) -> Option<usize> {
        if self.open {
            timeout(patience, self.read()).await.ok()
        } else {
            sleep(patience).await;
            None
        }
    }

    /// Reads the rest of the pipe, and what arrives shortly after, until it ends. Bounded in time, because other
    /// processes may write without end.
    async fn drain(&mut self) {
        let deadline = Instant::now() + SETTLE_TIME;
        let mut count = 0;
        while self.open && (count < PIPE_BYTES || Instant::now() < deadline) {
            match timeout_at(deadline, self.read()).await {
                Ok(more) => count += more,
                Err(_) => return,
            }
        }
    }
}

/// Kills a group whose supervisor was dropped.
struct Last(Arc<ProcessState>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.group.kill();
    }
}

/// The exit code; for a shell that a signal ended, the negated signal number, as in Bub (Python).
fn code(status: io::Result<ExitStatus>) -> i32 {
    match status {
        Ok(status) => status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(UNKNOWN_EXIT),
        Err(_) => UNKNOWN_EXIT,
    }
}
