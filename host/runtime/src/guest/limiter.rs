//! Bounds the memories and tables of a call.

use crate::plugin::{Break, FaultKind};
use wasmtime::{ResourceLimiter, Result};

/// Adds up all memories and tables of a call. wasmtime's own limits bound each memory by itself: sixty instances made
/// 7.2 GB under a limit of 128 MiB.
pub struct Limiter {
    limit: usize,
    used: usize,
    exceeded: bool,
}

impl Limiter {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0, exceeded: false }
    }

    /// The bytes that all of them use.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// The limit, in bytes, if the guest has run into it.
    pub fn exceeded(&self) -> Option<usize> {
        self.exceeded.then_some(self.limit)
    }

    fn grow(&mut self, bytes: usize) -> Result<bool> {
        match self.used.checked_add(bytes).filter(|used| *used <= self.limit) {
            Some(used) => {
                self.used = used;
                Ok(true)
            }
            None => {
                // An error traps at once. `false` would be an allocation that failed, and the guest's abort after it
                // looks like any other panic.
                self.exceeded = true;
                Err(wasmtime::Error::new(Break(FaultKind::OutOfMemory(self.limit))))
            }
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        self.grow(desired.saturating_sub(current))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        self.grow(desired.saturating_sub(current).saturating_mul(size_of::<usize>()))
    }
}
