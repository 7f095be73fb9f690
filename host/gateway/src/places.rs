//! Places for turns: how many may run at once, which may change while they run.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// So many places, of which each turn takes one.
pub(super) struct Places {
    free: Semaphore,
    count: Mutex<Count>,
}

struct Count {
    /// How many there are.
    all: usize,
    taken: usize,
    /// How many are to go as soon as they are free: nobody gets them, however long they have waited.
    leaving: usize,
}

/// A place that is taken. It is free again with the end of this value.
pub(super) struct Place<'a> {
    places: &'a Places,
    permit: Option<SemaphorePermit<'a>>,
}

impl Places {
    pub fn new(size: usize) -> Self {
        let all = bounded(size);
        Self { free: Semaphore::new(all), count: Mutex::new(Count { all, taken: 0, leaving: 0 }) }
    }

    /// Waits for a place, first come, first served.
    pub async fn take(&self) -> Place<'_> {
        // The semaphore is never closed.
        let permit = self.free.acquire().await.ok();
        self.count().taken += 1;
        Place { places: self, permit }
    }

    /// How many are taken now.
    pub fn taken(&self) -> usize {
        self.count().taken
    }

    /// From here on there are so many. Where more are taken, nobody gets one until enough have been given back.
    pub fn resize(&self, size: usize) {
        let size = bounded(size);
        let mut count = self.count();
        if size > count.all {
            let more = size - count.all;
            let staying = more.min(count.leaving);
            count.leaving -= staying;
            self.free.add_permits(more - staying);
        } else {
            let fewer = count.all - size;
            count.leaving += fewer - self.free.forget_permits(fewer);
        }
        count.all = size;
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut count = self.places.count();
        count.taken -= 1;
        if count.leaving > 0 {
            count.leaving -= 1;
            self.permit.take().into_iter().for_each(SemaphorePermit::forget);
        }
    }
}

/// No machine runs as many turns, and a semaphore panics where there are too many.
fn bounded(size: usize) -> usize {
    size.min(1 << 20)
}
