//! Writes recordings behind the answers of turns, on a thread of its own. No turn waits for it.
//!
//! The thread writes when no turn has run for a moment, so that it takes no processor from the next one. It does not wait for
//! that longer than a tenth of a second, nor until what waits fills half of its room: then it writes all of it in one go.
//!
//! While something waits, the thread looks for that moment by itself: to wake it is a call of the system, which each turn would
//! wait for.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that wait to be written, at most.
const MAX_BYTES: usize = 64 << 20;

/// What a turn holds beside its values, in bytes.
const BASE: usize = 32 << 10;

/// How long no turn has run before turns are written.
const IDLE: Duration = Duration::from_millis(10);

/// How long a turn waits for that.
const MAX_DELAY: Duration = Duration::from_millis(100);

/// What writes a turn. It is given whether the turn was discarded meanwhile.
type Work = Box<dyn FnOnce(&AtomicBool) + Send>;

/// The thread, started by the first turn.
#[derive(Default)]
pub struct Writer {
    queue: Arc<Queue>,
    is_started: OnceLock<bool>,
    refused: AtomicU64,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// There is something to write again, or a thread waits for the writer, or there is little room left.
    changed: Condvar,
    /// A turn was written.
    written: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    /// The one that is being written: its number and its folder.
    current: Option<(u64, String)>,
    /// Whether that one was discarded.
    is_discarded: Arc<AtomicBool>,
    /// What all of them hold.
    bytes: usize,
    /// The number of the latest job.
    latest: u64,
    /// Turns that run and are recorded.
    running: usize,
    /// Since when none does.
    idle_since: Instant,
    /// Until which job all are written at once.
    hurries_to: u64,
}

/// A turn that waits to be written.
struct Job {
    number: u64,
    folder: String,
    bytes: usize,
    since: Instant,
    work: Work,
}

/// A turn that runs: nothing is written meanwhile, for a while.
pub struct RunningTurn(Arc<Queue>);

impl Default for State {
    fn default() -> Self {
        Self {
            jobs: VecDeque::new(),
            current: None,
            is_discarded: Arc::default(),
            bytes: 0,
            latest: 0,
            running: 0,
            idle_since: Instant::now(),
            hurries_to: 0,
        }
    }
}

impl Writer {
    /// A turn begins that is recorded.
    pub fn begin_turn(&self) -> RunningTurn {
        self.queue.state.lock().running += 1;
        RunningTurn(self.queue.clone())
    }

    /// Does the job, which holds that many bytes and writes to that folder, behind those before it. Returns whether there was
    /// room for it. The job is given whether its folder was [discarded](Self::discard) since it began.
    pub fn submit(&self, folder: &str, bytes: usize, work: impl FnOnce(&AtomicBool) + Send + 'static) -> bool {
        let job = Job {
            number: 0,
            folder: folder.to_owned(),
            bytes: bytes.saturating_add(BASE),
            since: Instant::now(),
            work: Box::new(work),
        };
        let is_taken = self.start() && self.queue.add(job);
        self.refused.fetch_add(u64::from(!is_taken), Ordering::Relaxed);
        is_taken
    }

    /// Drops the jobs of that folder that wait, and tells one that is being done. What it writes before it knows is to be
    /// removed after this.
    pub fn discard(&self, folder: &str) {
        let mut state = self.queue.state.lock();
        let waiting = std::mem::take(&mut state.jobs);
        let (gone, left): (VecDeque<Job>, VecDeque<Job>) = waiting.into_iter().partition(|job| job.folder == folder);
        state.jobs = left;
        state.bytes -= gone.iter().map(|job| job.bytes).sum::<usize>();
        if state.current.as_ref().is_some_and(|(_, current)| current == folder) {
            state.is_discarded.store(true, Ordering::SeqCst);
        }
    }

    /// Turns that were not recorded, because too many waited.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Waits until all jobs of now are done. Blocks the thread.
    pub fn flush(&self) {
        let mut state = self.queue.state.lock();
        let all = state.latest;
        state.hurries_to = all;
        self.queue.changed.notify_all();
        while state.has_left(all) {
            self.queue.written.wait(&mut state);
        }
    }

    /// Whether there is something to wait for.
    pub fn is_started(&self) -> bool {
        self.is_started.get().is_some_and(|is_started| *is_started)
    }

    fn start(&self) -> bool {
        *self.is_started.get_or_init(|| {
            let queue = self.queue.clone();
            let thread = std::thread::Builder::new().name("recordings".to_owned());
            let started = thread.spawn(move || queue.write());
            started.inspect_err(|error| tracing::warn!("no turn is recorded: {error}")).is_ok()
        })
    }
}

impl Queue {
    fn add(&self, mut job: Job) -> bool {
        let mut state = self.state.lock();
        if state.bytes > MAX_BYTES {
            return false;
        }
        state.bytes += job.bytes;
        state.latest += 1;
        job.number = state.latest;
        if state.jobs.is_empty() || state.bytes > MAX_BYTES / 2 {
            self.changed.notify_all();
        }
        state.jobs.push_back(job);
        true
    }

    /// Writes what is due, without end.
    fn write(&self) {
        let mut state = self.state.lock();
        loop {
            match state.due() {
                None => self.changed.wait(&mut state),
                Some(at) if at > Instant::now() => drop(self.changed.wait_until(&mut state, at)),
                Some(_) => {
                    let Some(job) = state.jobs.pop_front() else { continue };
                    let is_discarded = Arc::<AtomicBool>::default();
                    state.is_discarded = is_discarded.clone();
                    state.current = Some((job.number, job.folder));
                    let work = AssertUnwindSafe(|| (job.work)(&is_discarded));
                    // Without the thread those that wait for it would wait for ever.
                    if MutexGuard::unlocked(&mut state, || catch_unwind(work)).is_err() {
                        tracing::error!("a turn is not recorded: the program has an error");
                    }
                    state.current = None;
                    state.bytes -= job.bytes;
                    self.written.notify_all();
                }
            }
        }
    }
}

impl State {
    /// Whether a job up to that number is not done.
    fn has_left(&self, number: u64) -> bool {
        let waiting = self.jobs.front().map(|job| job.number);
        let current = self.current.as_ref().map(|(number, _)| *number);
        current.into_iter().chain(waiting).any(|left| left <= number)
    }

    /// When the next job is due, or may be for all that is known now; none: there is none.
    fn due(&mut self) -> Option<Instant> {
        let first = self.jobs.front()?;
        let is_late = first.since.elapsed() >= MAX_DELAY || self.bytes > MAX_BYTES / 2;
        if is_late {
            self.hurries_to = self.latest;
        }
        if first.number <= self.hurries_to {
            return Some(first.since);
        }
        let at_last = first.since + MAX_DELAY;
        Some(at_last.min(if self.running > 0 { Instant::now() + IDLE } else { self.idle_since + IDLE }))
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.running -= 1;
        if state.running == 0 {
            state.idle_since = Instant::now();
        }
    }
}
