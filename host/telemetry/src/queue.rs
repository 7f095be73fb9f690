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

/// Records and bytes after which the exporter does not wait for its time. One request costs as much as hundreds of spans.
const BATCH: usize = 2048;
const BATCH_BYTES: usize = 1 << 20;

/// The memory that is kept for what comes next, in spans and in bytes.
const KEPT_SPANS: usize = BATCH;
const KEPT_BYTES: usize = 512 << 10;

#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// There is enough to send.
    pub(crate) is_full: Notify,
}

/// Everything that waits.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Spans, and the lengths of their attributes.
    spans: Vec<(SpanRecord, usize)>,
    /// The attributes of all spans, one behind the other.
    attributes: Vec<u8>,
    pub(crate) logs: Vec<LogRecord>,
    /// The latest values of all metrics.
    pub(crate) samples: Vec<Sample>,
    /// Bytes of the lines.
    lines: usize,
    /// Whether the exporter was told that there is enough.
    is_batch: bool,
}

impl Queue {
    pub(crate) fn push_span(&self, span: SpanRecord, attributes: &[u8]) {
        self.add(attributes.len() + size_of::<SpanRecord>(), |waiting| {
            waiting.spans.push((span, attributes.len()));
            waiting.attributes.extend_from_slice(attributes);
        });
    }

    pub(crate) fn push_log(&self, line: LogRecord) {
        let size = size_of::<LogRecord>() + line.text.len();
        self.add(size, |waiting| {
            waiting.lines += size;
            waiting.logs.push(line);
        });
    }

    /// Values take the place of those that were not sent yet.
    pub(crate) fn set_samples(&self, samples: Vec<Sample>) {
        self.waiting.lock().samples = samples;
        self.is_full.notify_one();
    }

    /// Takes everything out, and leaves the memory of `empty` for what comes next.
    pub(crate) fn take(&self, mut empty: Waiting) -> Waiting {
        empty.clear();
        std::mem::replace(&mut *self.waiting.lock(), empty)
    }

    fn add(&self, size: usize, add: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting.lock();
        if waiting.count() >= MAX_RECORDS || waiting.bytes() + size > MAX_BYTES {
            drop(waiting);
            return counts::dropped(1);
        }
        add(&mut waiting);
        let is_batch = !waiting.is_batch && (waiting.count() >= BATCH || waiting.bytes() >= BATCH_BYTES);
        waiting.is_batch |= is_batch;
        drop(waiting);
        if is_batch {
            self.is_full.notify_one();
        }
    }
}

impl Waiting {
    /// The number of spans.
    pub(crate) fn span_count(&self) -> usize {
        self.spans.len()
    }

    /// All spans with their attributes.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (&SpanRecord, &[u8])> {
        let mut rest = &self.attributes[..];
        self.spans.iter().map(move |(span, length)| {
            let (own, behind) = rest.split_at_checked(*length).unwrap_or_default();
            rest = behind;
            (span, own)
        })
    }

    fn count(&self) -> usize {
        self.spans.len() + self.logs.len()
    }

    fn bytes(&self) -> usize {
        self.spans.len() * size_of::<SpanRecord>() + self.attributes.len() + self.lines
    }

    fn clear(&mut self) {
        self.spans.clear();
        self.spans.shrink_to(KEPT_SPANS);
        self.attributes.clear();
        self.attributes.shrink_to(KEPT_BYTES);
        *self = Self {
            spans: std::mem::take(&mut self.spans),
            attributes: std::mem::take(&mut self.attributes),
            ..Self::default()
        };
    }
}
