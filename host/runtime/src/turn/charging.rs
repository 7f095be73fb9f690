//! Charges what guests make a turn hold.

use super::data::Turn;
use super::memory_charges::{LARGE_SHARE, LargestConsumer, MAX_HELD, MemoryCharges};
use crate::guest::{Running, running};
use crate::plugin::{Plugin, too_much_held};
use parking_lot::MutexGuard;

impl Turn {
    fn memory_charges(&self) -> MutexGuard<'_, MemoryCharges> {
        self.memory_charges.lock()
    }

    /// Counts what the guest that runs makes the turn hold, in bytes.
    ///
    /// # Errors
    ///
    /// It is more than a turn may hold: the guest's call ends.
    pub fn charge_memory(&self, bytes: usize) -> wasmtime::Result<()> {
        self.charge_memory_for(running(), bytes)
    }

    /// The same where the host holds it on behalf of a call that is over, or that runs in another task.
    ///
    /// # Errors
    ///
    /// As in [`Self::charge_memory`].
    pub fn charge_memory_for(&self, by: Option<Running>, bytes: usize) -> wasmtime::Result<()> {
        if self.memory_charges().add(by, bytes) > MAX_HELD { Err(too_much_held(MAX_HELD)) } else { Ok(()) }
    }

    /// The plugin that makes the turn hold most; none, where none makes it hold anything.
    pub fn largest_consumer(&self) -> Option<LargestConsumer> {
        self.memory_charges().largest()
    }

    /// Whether that plugin makes the turn hold so much that others may break by it.
    pub fn is_large_consumer(&self, plugin: &Plugin) -> bool {
        self.memory_charges().of_plugin(plugin) >= LARGE_SHARE
    }
}
