//! What was exported, and what was dropped.

use std::sync::atomic::{AtomicU64, Ordering};

static EXPORTED: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Spans and lines of the log since the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Those that the collector has accepted.
    pub exported: u64,
    /// Those that were dropped, because the queue was full or the collector did not take them.
    pub dropped: u64,
}

/// The counts so far.
pub fn counts() -> Counts {
    Counts { exported: EXPORTED.load(Ordering::Relaxed), dropped: DROPPED.load(Ordering::Relaxed) }
}

#[cfg(feature = "otlp")]
pub(crate) fn exported(count: u64) {
    EXPORTED.fetch_add(count, Ordering::Relaxed);
}

#[cfg(feature = "otlp")]
pub(crate) fn dropped(count: u64) {
    DROPPED.fetch_add(count, Ordering::Relaxed);
}
