//! Places for turns: how many may run at once, which may change while they run.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// So many places, of which each turn takes one.
pub(super) struct Places {
    free: Arc<Semaphore>,
    size: Mutex<u32>,
    taken: Mutex<usize>,
}

/// A place that is taken. It is free again with the end of this value.
pub(super) struct Place<'a> {
    places: &'a Places,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Places {
    pub fn new(size: usize) -> Self {
        let size = bounded(size);
        Self { free: Arc::new(Semaphore::new(size as usize)), size: Mutex::new(size), taken: Mutex::default() }
    }

    /// Waits for a place, first come, first served.
    pub async fn take(&self) -> Place<'_> {
        // The semaphore is never closed.
        let permit = self.free.acquire().await.ok();
        *self.count() += 1;
        Place { places: self, _permit: permit }
    }

    /// How many are taken now.
    pub fn taken(&self) -> usize {
        *self.count()
    }

    /// From here on there are so many. Where more are taken, nobody gets one until enough are free again.
    pub fn resize(&self, size: usize) {
        let size = bounded(size);
        let mut before = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let (more, fewer) = (size.saturating_sub(*before), before.saturating_sub(size));
        *before = size;
        self.free.add_permits(more as usize);
        if fewer > 0 {
            let free = Arc::clone(&self.free);
            // It waits in the same queue as turns do, so no turn behind it gets what is to go.
            drop(tokio::spawn(async move { free.acquire_many_owned(fewer).await.map(|gone| gone.forget()) }));
        }
    }

    fn count(&self) -> std::sync::MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.places.count() -= 1;
    }
}

/// No machine runs as many turns; a semaphore holds no more permits than that at all.
fn bounded(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX).min(1 << 20)
}
