//! Bytes that HTTP callers have added to tapes today.

use crate::quota::{QuotaAccount, QuotaExceeded, today};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;

/// Bytes added to tapes today, by caller.
#[derive(Default)]
pub(crate) struct ByteCounts(Mutex<Day>);

#[derive(Default)]
struct Day {
    number: i64,
    bytes: HashMap<String, u64>,
}

impl ByteCounts {
    /// The counts of today that were stored.
    pub(crate) fn new(stored: Vec<(String, u64)>) -> Self {
        Self(Mutex::new(Day { number: today(), bytes: stored.into_iter().collect() }))
    }

    fn day(&self) -> MutexGuard<'_, Day> {
        let mut day = self.0.lock();
        let number = today();
        if day.number != number {
            *day = Day { number, bytes: HashMap::new() };
        }
        day
    }

    /// Counts bytes of a caller, unless the day's total would exceed the limit. Returns the day and the caller's total.
    ///
    /// # Errors
    ///
    /// The quota of today is used up; nothing is counted.
    pub(crate) fn charge(&self, account: &QuotaAccount, bytes: usize, limit: u64) -> Result<(i64, u64), QuotaExceeded> {
        let mut day = self.day();
        let used = day.bytes.get(&account.caller).copied().unwrap_or_default();
        let total = used.saturating_add(bytes as u64);
        if total > limit {
            return Err(QuotaExceeded::bytes(limit));
        }
        day.bytes.insert(account.caller.clone(), total);
        Ok((day.number, total))
    }

    /// Counts bytes of a caller, even beyond the quota. Returns the day and the caller's total.
    pub(crate) fn add(&self, account: &QuotaAccount, bytes: usize) -> (i64, u64) {
        let mut day = self.day();
        let number = day.number;
        let used = day.bytes.entry(account.caller.clone()).or_default();
        *used = used.saturating_add(bytes as u64);
        (number, *used)
    }
}
