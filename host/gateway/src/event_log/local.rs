//! The newest events of one process, in memory.

use super::json::to_json;
use super::{Batch, KEPT, LoggedEvent, MAX_READ};
use bub_runtime::host::{EventRecord, Subscriber};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// The newest events. Cursors begin at the time of the start in microseconds, so that those of an earlier process are older.
pub(crate) struct Ring {
    kept: Mutex<VecDeque<EventRecord>>,
    /// The cursor of the newest event.
    last: watch::Sender<i64>,
    /// Where cursors begin.
    start: i64,
}

impl Default for Ring {
    fn default() -> Self {
        let start = jiff::Timestamp::now().as_microsecond();
        Self { kept: Mutex::default(), last: watch::Sender::new(start), start }
    }
}

impl Ring {
    pub(super) fn last(&self) -> i64 {
        *self.last.borrow()
    }

    /// Keeps all events from now on. Never ends.
    pub(super) async fn fill(self: Arc<Self>, mut subscriber: Subscriber) {
        loop {
            match subscriber.next().await {
                Ok(record) => {
                    let mut kept = self.kept.lock();
                    if kept.len() >= KEPT {
                        kept.pop_front();
                    }
                    kept.push_back(record);
                    self.last.send_modify(|last| *last += 1);
                }
                // Readers see the gap between the cursors.
                Err(missed) => {
                    let mut kept = self.kept.lock();
                    kept.clear();
                    let missed = i64::try_from(missed).unwrap_or_default();
                    self.last.send_modify(|last| *last += missed);
                }
            }
        }
    }

    /// Waits for events after a cursor, and returns them with the new cursor. With `newest`, at most so many of the newest,
    /// and those before them are missed.
    pub(super) async fn after(&self, cursor: i64, newest: Option<usize>) -> (Batch, i64) {
        let mut last = self.last.subscribe();
        // A cursor from the future is of another machine.
        let cursor = cursor.min(self.last());
        // The sender lives as long as this. What is returned locks the channel, which `fill` changes while it holds `kept`.
        drop(last.wait_for(|last| *last > cursor).await);
        let kept = self.kept.lock();
        let end = self.last();
        let first = end - i64::try_from(kept.len()).unwrap_or_default();
        let from =
            cursor.max(first).max(end - newest.map_or(i64::MAX, |newest| i64::try_from(newest).unwrap_or(i64::MAX)));
        let missed = u64::try_from(from - cursor.max(self.start)).unwrap_or_default();
        let skipped = usize::try_from(from - first).unwrap_or_default();
        let events: Vec<LoggedEvent> = (from + 1..)
            .zip(kept.iter().skip(skipped).take(MAX_READ))
            .map(|(cursor, record)| {
                let (name, data) = to_json(record);
                LoggedEvent { cursor, session: record.session.clone(), name: name.to_owned(), data: data.to_string() }
            })
            .collect();
        let end = events.last().map_or(end, |event| event.cursor);
        // This process does not know the events of an earlier one.
        let missed = if cursor < self.start { None } else { Some(missed) };
        (Batch { missed, events }, end)
    }
}
