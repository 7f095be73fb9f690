//! Instances that the next call of their turn can reuse.
//!
//! A plugin has a fresh instance for each call, so that nothing passes from one to the next. To make one and to take it apart
//! costs more than most calls of the program's own guests, which keep nothing by the way they are written; theirs stay until
//! their turn ends. A call that breaks, and one that leaves handles or much memory behind, takes its instance with it.

use super::call::CallContext;
use super::load::{Plugin, Source};
use super::store::State;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmtime::Store;
use wasmtime::component::Instance;

/// Instances of all turns that wait. Each has a place in the pool of which running calls have need, so they get half of it.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Those of one turn.
#[derive(Default)]
pub struct InstancePool(Mutex<Vec<PooledInstance>>);

struct PooledInstance {
    plugin: Arc<Plugin>,
    store: Store<State>,
    instance: Instance,
    _place: Place,
}

/// A place in the pool.
struct Place;

impl Place {
    /// Where the pool holds so many.
    fn take(slots: u32) -> Option<Self> {
        let place = Self;
        (WAITING.fetch_add(1, Ordering::Relaxed) < slots as usize / 2).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether that call may have an instance that another has had before.
pub(super) fn may_rest(plugin: &Plugin, context: &CallContext) -> bool {
    plugin.source == Source::Embedded && context.turn.is_some()
}

impl InstancePool {
    fn all(&self) -> MutexGuard<'_, Vec<PooledInstance>> {
        self.0.lock()
    }

    pub(super) fn take(&self, plugin: &Arc<Plugin>) -> Option<(Store<State>, Instance)> {
        let mut all = self.all();
        let at = all.iter().position(|resting| Arc::ptr_eq(&resting.plugin, plugin))?;
        let PooledInstance { store, instance, .. } = all.swap_remove(at);
        Some((store, instance))
    }

    /// Keeps it, where there is a place.
    pub(super) fn put(&self, plugin: &Arc<Plugin>, store: Store<State>, instance: Instance) {
        if let Some(place) = Place::take(store.data().host.engines.slots()) {
            self.all().push(PooledInstance { plugin: plugin.clone(), store, instance, _place: place });
        }
    }

    /// Drops all instances, at the end of the turn.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.all());
        // Not under the lock: it takes a while.
        drop(all);
    }
}
