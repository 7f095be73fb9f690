//! What waits for the exporter. The program adds to it, and never waits.

use crate::counts;
use crate::metric::Sample;
use crate::record::{LogRecord, SpanRecord};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Spans and lines that wait; further ones are dropped.
const MAX_RECORDS: usize = 4096;

/// Bytes of them.
const MAX_BYTES: usize = 8 << 20;

/// Records after which the exporter does not wait for its time.
const BATCH: usize = 512;

#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// There is enough to send.
    pub(crate) is_full: Notify,
}

/// Everything that waits.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) spans: Vec<SpanRecord>,
    pub(crate) logs: Vec<LogRecord>,
    /// The latest values of all metrics.
    pub(crate) samples: Vec<Sample>,
    bytes: usize,
}

impl Queue {
    pub(crate) fn push_span(&self, span: Box<SpanRecord>) {
        let size = span.size();
        self.add(size, |waiting| waiting.spans.push(*span));
    }

    pub(crate) fn push_log(&self, line: LogRecord) {
        let size = size_of::<LogRecord>() + line.text.len();
        self.add(size, |waiting| waiting.logs.push(line));
    }

    /// Values take the place of those that were not sent yet.
    pub(crate) fn set_samples(&self, samples: Vec<Sample>) {
        self.waiting.lock().samples = samples;
        self.is_full.notify_one();
    }

    /// Takes everything out.
    pub(crate) fn take(&self) -> Waiting {
        std::mem::take(&mut *self.waiting.lock())
    }

    fn add(&self, size: usize, add: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting.lock();
        if waiting.count() >= MAX_RECORDS || waiting.bytes + size > MAX_BYTES {
            drop(waiting);
            return counts::dropped(1);
        }
        waiting.bytes += size;
        add(&mut waiting);
        let is_batch = waiting.count() == BATCH;
        drop(waiting);
        if is_batch {
            self.is_full.notify_one();
        }
    }
}

impl Waiting {
    fn count(&self) -> usize {
        self.spans.len() + self.logs.len()
    }
}
