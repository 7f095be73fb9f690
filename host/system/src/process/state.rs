//! The state of a program, shared by its handles and its supervisor.

use super::group::Group;
use super::ring::{Chunk, Ring};
use parking_lot::{Mutex, MutexGuard};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The phase of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its shell runs.
    Running,
    /// The shell exited with that code; other processes of the group still run.
    Left(i32),
    /// The group is empty, and no more output is read.
    Gone(i32),
}

impl Phase {
    pub(super) fn exit_code(self) -> Option<i32> {
        match self {
            Self::Running => None,
            Self::Left(code) | Self::Gone(code) => Some(code),
        }
    }
}

/// One program: shared by its handles, the list of programs and the task that reads its output.
pub(super) struct ProcessState {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) turn: String,
    pub(super) group: Group,
    pub(super) phase: watch::Sender<Phase>,
    output: Mutex<Written>,
    /// Whether its group is that of a wrapper, which ends all that it confines.
    pub(super) is_confined: bool,
    kept: AtomicBool,
    dismissed: AtomicBool,
    gone_since: OnceLock<Instant>,
}

#[derive(Default)]
struct Written {
    ring: Ring,
    /// The offset that a reader reached when it also got the exit code.
    read_to_end: Option<u64>,
}

impl ProcessState {
    pub(super) fn new(id: String, (session, turn): (&str, &str), group: Group, is_confined: bool) -> Self {
        Self {
            id,
            session: session.to_owned(),
            turn: turn.to_owned(),
            group,
            phase: watch::Sender::new(Phase::Running),
            output: Mutex::default(),
            is_confined,
            kept: AtomicBool::new(false),
            dismissed: AtomicBool::new(false),
            gone_since: OnceLock::new(),
        }
    }

    /// Lets the program outlive its turn.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Removes it from the list when its turn or session has ended.
    pub(super) fn dismiss(&self) {
        self.dismissed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed.load(Ordering::Relaxed)
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        self.written().ring.push(bytes);
    }

    /// Records that the group is empty.
    pub(super) fn close(&self, code: i32) {
        self.written().ring.close();
        self.gone_since.get_or_init(Instant::now);
        self.phase.send_replace(Phase::Gone(code));
    }

    /// A part of the output, and the exit code once all output has arrived.
    pub(super) fn read(&self, offset: u64, max: usize) -> (Chunk, Option<i32>) {
        // Read the code first: output may still arrive before the code is set, never after.
        let exit_code = self.phase.borrow().exit_code();
        let mut written = self.written();
        let chunk = written.ring.read(offset, max);
        if exit_code.is_some() {
            written.read_to_end = written.read_to_end.max(Some(chunk.next));
        }
        (chunk, exit_code)
    }

    /// Whether it has ended, and was read to its end, dismissed, or kept for `patience`.
    pub(super) fn is_forgettable(&self, patience: Duration) -> bool {
        let Some(since) = self.gone_since.get() else { return false };
        let written = self.written();
        self.is_dismissed() || since.elapsed() >= patience || written.read_to_end == Some(written.ring.end())
    }

    pub(super) fn is_over(&self) -> bool {
        self.gone_since.get().is_some()
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.output.lock()
    }
}
