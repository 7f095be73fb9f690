//! What guests make a turn hold, and which of them did: the budget is the turn's, the blame is a plugin's.

use super::super::Turn;
use crate::plugin::{Plugin, Running, running, too_much_held};
use parking_lot::MutexGuard;
use std::sync::Arc;

/// What the guests of one turn may make it hold together, in bytes: text that was said, state, entries.
const MAX_HELD: usize = 64 << 20;

/// A plugin that makes a turn hold this much, in bytes, may break the calls of others that are handed it. Its call is
/// then no success that would make up for that.
const LARGE_SHARE: usize = 8 << 20;

/// Bytes that a turn holds, by the exports that made it hold them.
#[derive(Default)]
pub(in super::super) struct MemoryCharges {
    total: usize,
    by: Vec<(Running, usize)>,
}

/// The plugin that makes a turn hold most.
pub struct LargestConsumer {
    pub plugin: Arc<Plugin>,
    /// The export by which it made the turn hold most of it.
    pub hook: &'static str,
    /// What it makes the turn hold by all of them.
    pub bytes: usize,
}

impl MemoryCharges {
    fn add(&mut self, by: Option<Running>, bytes: usize) -> usize {
        self.total = self.total.saturating_add(bytes);
        if let Some(by) = by {
            match self.by.iter_mut().find(|(other, _)| other.is_same(&by)) {
                Some((_, held)) => *held = held.saturating_add(bytes),
                None => self.by.push((by, bytes)),
            }
        }
        self.total
    }

    fn of(&self, plugin: &Plugin) -> usize {
        let own = self.by.iter().filter(|(by, _)| by.plugin.digest == plugin.digest && by.plugin.name == plugin.name);
        own.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

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
        let memory_charges = self.memory_charges();
        let plugin =
            memory_charges.by.iter().map(|(by, _)| &by.plugin).max_by_key(|plugin| memory_charges.of(plugin))?;
        let own = memory_charges.by.iter().filter(|(by, _)| Arc::ptr_eq(&by.plugin, plugin));
        let (most, _) = own.max_by_key(|(_, bytes)| *bytes)?;
        Some(LargestConsumer { plugin: Arc::clone(plugin), hook: most.hook, bytes: memory_charges.of(plugin) })
    }

    /// Whether that plugin makes the turn hold so much that others may break by it.
    pub fn is_large_consumer(&self, plugin: &Plugin) -> bool {
        self.memory_charges().of(plugin) >= LARGE_SHARE
    }
}
