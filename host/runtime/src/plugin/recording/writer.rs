//! Writes recordings behind the answers of turns, on a thread of its own. No turn waits for it.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Turns that wait to be written, at most.
const MAX_WAITING: usize = 64;

/// What they hold together, at most, in bytes.
const MAX_BYTES: usize = 64 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// The thread, started by the first turn.
#[derive(Default)]
pub struct Writer {
    sender: OnceLock<Option<SyncSender<Job>>>,
    waiting: Arc<AtomicUsize>,
    refused: AtomicU64,
}

impl Writer {
    /// Does the job, which holds that many bytes, behind those before it. Returns whether there was room for it.
    pub fn submit(&self, bytes: usize, job: impl FnOnce() + Send + 'static) -> bool {
        let waiting = self.waiting.clone();
        let has_room = waiting.fetch_add(bytes, Ordering::Relaxed) <= MAX_BYTES;
        let job: Job = Box::new(move || {
            job();
            waiting.fetch_sub(bytes, Ordering::Relaxed);
        });
        let is_taken = has_room && self.sender().is_some_and(|sender| sender.try_send(job).is_ok());
        if !is_taken {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        is_taken
    }

    /// Turns that were not recorded, because too many waited.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Waits until all jobs of now are done. Blocks the thread.
    pub fn flush(&self) {
        let Some(Some(sender)) = self.sender.get() else { return };
        let (done, is_done) = sync_channel(1);
        let last: Job = Box::new(move || {
            let _ = done.send(());
        });
        if sender.send(last).is_ok() {
            let _ = is_done.recv();
        }
    }

    /// Whether there is something to wait for.
    pub fn is_started(&self) -> bool {
        self.sender.get().is_some()
    }

    fn sender(&self) -> Option<&SyncSender<Job>> {
        let start = || {
            let (sender, jobs): (_, Receiver<Job>) = sync_channel(MAX_WAITING);
            let thread = std::thread::Builder::new().name("recordings".to_owned());
            let started = thread.spawn(move || jobs.into_iter().for_each(|job| job()));
            started.inspect_err(|error| tracing::warn!("no turn is recorded: {error}")).ok().map(|_| sender)
        };
        self.sender.get_or_init(start).as_ref()
    }
}
