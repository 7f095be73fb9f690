//! Quotas of HTTP callers: sessions that they have started, and bytes that they have added to tapes today.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;

/// A quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// Its key in the configuration.
    pub key: &'static str,
    /// Its value.
    pub limit: u64,
}

/// The caller that a message is charged to, and its quotas of sessions and bytes.
#[derive(Debug, Clone)]
pub struct QuotaAccount {
    /// The caller's name in quarantine and in the usage log.
    pub caller: String,
    /// Sessions that the caller may start; `None`: unlimited.
    pub sessions: Option<u64>,
    /// Bytes that the caller may add to tapes per day; `None`: unlimited.
    pub bytes_per_day: Option<u64>,
}

/// Days since 1970, UTC: independent of the local time zone.
pub(crate) fn today() -> i64 {
    jiff::Timestamp::now().as_second() / 86_400
}

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
            return Err(QuotaExceeded { key: "record_mib_per_day", limit: limit >> 20 });
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
