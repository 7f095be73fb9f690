//! What is known of one program, from its start until it is forgotten.

use super::group::Group;
use super::ring::{Chunk, Ring};
use parking_lot::{Mutex, MutexGuard};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How far a program has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its shell runs.
    Running,
    /// Its shell ended with that code; others of the group still run.
    Left(i32),
    /// Nobody of the group is left, and no more output is read.
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
    kept: AtomicBool,
    dismissed: AtomicBool,
    gone_since: OnceLock<Instant>,
}

#[derive(Default)]
struct Written {
    ring: Ring,
    /// How far somebody has read who was told the exit code with it.
    read_to_end: Option<u64>,
}

impl ProcessState {
    pub(super) fn new(id: String, session: &str, turn: &str, group: Group) -> Self {
        Self {
            id,
            session: session.to_owned(),
            turn: turn.to_owned(),
            group,
            phase: watch::Sender::new(Phase::Running),
            output: Mutex::default(),
            kept: AtomicBool::new(false),
            dismissed: AtomicBool::new(false),
            gone_since: OnceLock::new(),
        }
    }

    /// It is to outlive its turn.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Its turn or session is over: nobody is to find it again.
    pub(super) fn dismiss(&self) {
        self.dismissed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed.load(Ordering::Relaxed)
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        self.written().ring.push(bytes);
    }

    /// The last word: nobody of the group is left.
    pub(super) fn close(&self, code: i32) {
        self.written().ring.close();
        self.gone_since.get_or_init(Instant::now);
        self.phase.send_replace(Phase::Gone(code));
    }

    /// A part of the output, and the exit code where all that the shell wrote has arrived.
    pub(super) fn read(&self, offset: u64, max: usize) -> (Chunk, Option<i32>) {
        // The code first: behind it there is nothing more to come, behind the output there may be.
        let exit_code = self.phase.borrow().exit_code();
        let mut written = self.written();
        let chunk = written.ring.read(offset, max);
        if exit_code.is_some() {
            written.read_to_end = written.read_to_end.max(Some(chunk.next));
        }
        (chunk, exit_code)
    }

    /// Whether it is over, and either read to its end, or not to be found again, or over for that long.
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
