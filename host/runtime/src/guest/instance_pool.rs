//! Instances that the next call of their turn can reuse.
//!
//! A plugin has a fresh instance for each call, so that nothing passes from one to the next. To make one and to take it apart
//! costs more than most calls of the program's own guests, which keep nothing by the way they are written; theirs stay until
//! their turn ends. A call that breaks, and one that leaves handles or much memory behind, takes its instance with it.

use crate::plugin::Plugin;
use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Instances of all turns that wait. Each has a place in the pool of which running calls have need, so they get half of it.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Those of one turn.
#[derive(Default)]
pub struct InstancePool(Mutex<Vec<PooledInstance>>);

struct PooledInstance {
    plugin: Arc<Plugin>,
    /// The store and the instance in it: their type belongs to the layer that calls guests.
    idle: Box<dyn Any + Send>,
    _slot: PoolSlot,
}

/// A place in the pool.
struct PoolSlot;

impl PoolSlot {
    /// Where the pool holds so many.
    fn take(slots: u32) -> Option<Self> {
        let slot = Self;
        (WAITING.fetch_add(1, Ordering::Relaxed) < slots as usize / 2).then_some(slot)
    }
}

impl Drop for PoolSlot {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl InstancePool {
    fn all(&self) -> MutexGuard<'_, Vec<PooledInstance>> {
        self.0.lock()
    }

    /// An idle instance of the plugin.
    pub(super) fn take(&self, plugin: &Arc<Plugin>) -> Option<Box<dyn Any + Send>> {
        let mut all = self.all();
        let at = all.iter().position(|resting| Arc::ptr_eq(&resting.plugin, plugin))?;
        Some(all.swap_remove(at).idle)
    }

    /// Keeps an idle instance, unless the idle instances of all turns have half of the engine's `slots`.
    pub(super) fn put(&self, plugin: &Arc<Plugin>, idle: Box<dyn Any + Send>, slots: u32) {
        if let Some(slot) = PoolSlot::take(slots) {
            self.all().push(PooledInstance { plugin: plugin.clone(), idle, _slot: slot });
        }
    }

    /// Drops all instances, at the end of the turn.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.all());
        // Not under the lock: it takes a while.
        drop(all);
    }
}
