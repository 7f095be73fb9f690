//! What callers over HTTP have taken: the sessions that they have begun, and the bytes that they have added to tapes today.

use super::Gateway;
use bub_types::Envelope;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// Its key in the configuration.
    pub key: &'static str,
    /// What it is.
    pub limit: u64,
}

/// Who a message counts for, and what they may take of sessions and records.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The caller's name, as quarantine and account know it.
    pub caller: String,
    /// Sessions that they may begin; none: any number.
    pub sessions: Option<u64>,
    /// Bytes that they may add to tapes in a day; none: any number.
    pub bytes_per_day: Option<u64>,
}

/// Days since 1970, UTC: no clock of the user's sets a day back.
fn today() -> i64 {
    jiff::Timestamp::now().as_second() / 86_400
}

/// Bytes by caller, of one day.
#[derive(Default)]
pub(super) struct RecordCounts(Mutex<Day>);

#[derive(Default)]
struct Day {
    number: i64,
    bytes: HashMap<String, u64>,
}

impl RecordCounts {
    /// What the records know of today.
    pub fn new(known: Vec<(String, u64)>) -> Self {
        Self(Mutex::new(Day { number: today(), bytes: known.into_iter().collect() }))
    }

    fn day(&self) -> MutexGuard<'_, Day> {
        let mut day = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = today();
        if day.number != number {
            *day = Day { number, bytes: HashMap::new() };
        }
        day
    }
}

impl Gateway {
    /// Counts a message whose session is known, before it waits for its turn.
    ///
    /// # Errors
    ///
    /// A quota is used up.
    pub(super) async fn count(&self, session: &str, counted: &Counted, message: &Envelope) -> Result<(), Exceeded> {
        let media: usize = message.media.iter().map(|media| media.url.len()).sum();
        let passages: usize = message.passages.iter().map(|passage| passage.text.len()).sum();
        self.count_record(counted, message.content.len() + passages + media).await?;
        self.begin_session(session, counted).await
    }

    /// Counts what a message adds to its tape.
    ///
    /// # Errors
    ///
    /// The caller has added as much as they may today: then nothing is counted.
    async fn count_record(&self, counted: &Counted, bytes: usize) -> Result<(), Exceeded> {
        let Some(limit) = counted.bytes_per_day else { return Ok(()) };
        let (day, now) = {
            let mut day = self.record_counts.day();
            let used = day.bytes.get(&counted.caller).copied().unwrap_or_default();
            let now = used.saturating_add(bytes as u64);
            if now > limit {
                return Err(Exceeded { key: "record_mib_per_day", limit: limit >> 20 });
            }
            day.bytes.insert(counted.caller.clone(), now);
            (day.number, now)
        };
        self.write_count(counted, day, now).await;
        Ok(())
    }

    /// Counts what an answer adds to the tape, whatever is left.
    pub(super) async fn count_answer(&self, counted: &Counted, bytes: usize) {
        if counted.bytes_per_day.is_none() {
            return;
        }
        let (day, now) = {
            let mut day = self.record_counts.day();
            let number = day.number;
            let used = day.bytes.entry(counted.caller.clone()).or_default();
            *used = used.saturating_add(bytes as u64);
            (number, *used)
        };
        self.write_count(counted, day, now).await;
    }

    async fn write_count(&self, counted: &Counted, day: i64, bytes: u64) {
        if let Err(error) = self.records.count(counted.caller.clone(), day, bytes).await {
            // It holds for as long as this process does.
            tracing::error!("what caller `{}` has added to tapes is not written down: {error}", counted.caller);
        }
    }
}

/// The day that [`RecordCounts::new`] takes counts of.
pub(super) fn day() -> i64 {
    today()
}
