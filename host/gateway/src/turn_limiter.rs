//! Bounds the number of turns that run at once. The bound may change while they run.

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A semaphore of turns that can be resized.
pub(crate) struct TurnLimiter {
    free: Semaphore,
    slots: Mutex<Slots>,
}

struct Slots {
    total: usize,
    running: usize,
    /// Slots of running turns that are removed, not freed, when their turns end.
    surplus: usize,
}

/// The slot of a running turn, freed on drop.
pub(crate) struct TurnSlot<'a> {
    limiter: &'a TurnLimiter,
    permit: Option<SemaphorePermit<'a>>,
}

impl TurnLimiter {
    pub(crate) fn new(size: usize) -> Self {
        let total = bounded(size);
        Self { free: Semaphore::new(total), slots: Mutex::new(Slots { total, running: 0, surplus: 0 }) }
    }

    /// Waits for a slot, in the order of the calls.
    pub(crate) async fn acquire(&self) -> TurnSlot<'_> {
        // The semaphore is never closed.
        let permit = self.free.acquire().await.ok();
        self.slots.lock().running += 1;
        TurnSlot { limiter: self, permit }
    }

    /// The number of slots in use.
    pub(crate) fn running(&self) -> usize {
        self.slots.lock().running
    }

    /// Changes the number of slots. While more are in use, none is granted.
    pub(crate) fn resize(&self, size: usize) {
        let size = bounded(size);
        let mut slots = self.slots.lock();
        if size > slots.total {
            let more = size - slots.total;
            let kept = more.min(slots.surplus);
            slots.surplus -= kept;
            self.free.add_permits(more - kept);
        } else {
            let fewer = slots.total - size;
            slots.surplus += fewer - self.free.forget_permits(fewer);
        }
        slots.total = size;
    }
}

impl Drop for TurnSlot<'_> {
    fn drop(&mut self) {
        let mut slots = self.limiter.slots.lock();
        slots.running -= 1;
        if slots.surplus > 0 {
            slots.surplus -= 1;
            self.permit.take().into_iter().for_each(SemaphorePermit::forget);
        }
    }
}

/// No machine runs more turns, and a semaphore panics on too many permits.
fn bounded(size: usize) -> usize {
    size.min(1 << 20)
}
