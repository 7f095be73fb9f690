//! Quotas of HTTP callers: sessions that they have started, and bytes that they have added to tapes today.

use super::Gateway;
use bub_types::Envelope;
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
}

impl Gateway {
    /// Charges a message whose session is known, before it waits for its turn.
    ///
    /// # Errors
    ///
    /// A quota is used up.
    pub(super) async fn charge_message(
        &self,
        session: &str,
        account: &QuotaAccount,
        message: &Envelope,
    ) -> Result<(), QuotaExceeded> {
        let media: usize = message.media.iter().map(|media| media.url.len()).sum();
        let passages: usize = message.passages.iter().map(|passage| passage.text.len()).sum();
        self.charge_bytes(account, message.content.len() + passages + media).await?;
        self.start_session(session, account).await
    }

    /// Charges the bytes that a message adds to its tape.
    ///
    /// # Errors
    ///
    /// The quota of today is used up; nothing is charged.
    async fn charge_bytes(&self, account: &QuotaAccount, bytes: usize) -> Result<(), QuotaExceeded> {
        let Some(limit) = account.bytes_per_day else { return Ok(()) };
        let (day, total) = {
            let mut day = self.byte_counts.day();
            let used = day.bytes.get(&account.caller).copied().unwrap_or_default();
            let total = used.saturating_add(bytes as u64);
            if total > limit {
                return Err(QuotaExceeded { key: "record_mib_per_day", limit: limit >> 20 });
            }
            day.bytes.insert(account.caller.clone(), total);
            (day.number, total)
        };
        self.store_bytes(account, day, total).await;
        Ok(())
    }

    /// Charges the bytes that an answer adds to its tape, even beyond the quota.
    pub(super) async fn charge_answer(&self, account: &QuotaAccount, bytes: usize) {
        if account.bytes_per_day.is_none() {
            return;
        }
        let (day, total) = {
            let mut day = self.byte_counts.day();
            let number = day.number;
            let used = day.bytes.entry(account.caller.clone()).or_default();
            *used = used.saturating_add(bytes as u64);
            (number, *used)
        };
        self.store_bytes(account, day, total).await;
    }

    async fn store_bytes(&self, account: &QuotaAccount, day: i64, bytes: u64) {
        if let Err(error) = self.inbox_db.set_byte_count(account.caller.clone(), day, bytes).await {
            // The count in memory holds until the process ends.
            tracing::error!("the bytes that caller `{}` added to tapes are not stored: {error}", account.caller);
        }
    }
}
