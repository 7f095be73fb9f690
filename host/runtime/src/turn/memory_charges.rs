//! The memory that guests make a turn hold, and which of them did: the budget is the turn's, the blame is a plugin's.

use crate::guest::Running;
use crate::plugin::Plugin;
use std::sync::Arc;

/// The bytes that the guests of one turn may make it hold together: text that was said, state, entries.
pub(super) const MAX_HELD: usize = 64 << 20;

/// A plugin that makes a turn hold this much, in bytes, may break the calls of others that are handed it. Its call is
/// then no success that would make up for that.
pub(super) const LARGE_SHARE: usize = 8 << 20;

/// Bytes that a turn holds, by the exports that made it hold them.
#[derive(Default)]
pub(super) struct MemoryCharges {
    total: usize,
    by: Vec<(Running, usize)>,
}

/// The plugin that makes a turn hold most.
pub struct LargestConsumer {
    pub plugin: Arc<Plugin>,
    /// The export by which it made the turn hold most of it.
    pub hook: &'static str,
    /// The bytes that it makes the turn hold by all of them.
    pub bytes: usize,
}

impl MemoryCharges {
    pub(super) fn add(&mut self, by: Option<Running>, bytes: usize) -> usize {
        self.total = self.total.saturating_add(bytes);
        if let Some(by) = by {
            match self.by.iter_mut().find(|(other, _)| other.is_same(&by)) {
                Some((_, held)) => *held = held.saturating_add(bytes),
                None => self.by.push((by, bytes)),
            }
        }
        self.total
    }

    pub(super) fn of_plugin(&self, plugin: &Plugin) -> usize {
        let own = self.by.iter().filter(|(by, _)| by.plugin.digest == plugin.digest && by.plugin.name == plugin.name);
        own.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The plugin that makes the turn hold most; none, where none makes it hold anything.
    pub(super) fn largest(&self) -> Option<LargestConsumer> {
        let plugin = self.by.iter().map(|(by, _)| &by.plugin).max_by_key(|plugin| self.of_plugin(plugin))?;
        let own = self.by.iter().filter(|(by, _)| Arc::ptr_eq(&by.plugin, plugin));
        let (most, _) = own.max_by_key(|(_, bytes)| *bytes)?;
        Some(LargestConsumer { plugin: Arc::clone(plugin), hook: most.call.name(), bytes: self.of_plugin(plugin) })
    }
}
