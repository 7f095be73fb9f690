//! The exporter: a thread that sends what the layer has recorded.

use crate::encode::Encoder;
use crate::metric::Sample;
use crate::queue::{Queue, Waiting};
use crate::request::{Collector, Refusal};
use crate::settings::Settings;
use crate::text::{Cleaner, Redact};
use crate::{counts, ids, subscriber};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often a request is sent that the collector may take another time.
const MAX_ATTEMPTS: u32 = 3;

/// Requests that wait for another attempt, and the bytes of all of them.
const MAX_PENDING: usize = 16;
const MAX_PENDING_BYTES: usize = 8 << 20;

/// Exports traces, logs and metrics until [`finish`](Self::finish) is called.
pub struct Exporter {
    shared: Arc<Shared>,
    done: Receiver<()>,
}

struct Shared {
    queue: Arc<Queue>,
    redact: Mutex<Redact>,
    stop: Notify,
}

impl Exporter {
    /// Starts the thread, and lets the [`subscriber`](crate::subscriber) of the process make records. `redact` takes secrets out of
    /// every text that is sent.
    ///
    /// # Errors
    ///
    /// A header cannot be sent, the system refuses a thread, or this process exports already.
    pub fn start(settings: Settings, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Result<Self, String> {
        let collector = Collector::new(&settings)?;
        let queue = Arc::new(Queue::default());
        let redact: Redact = Arc::new(redact);
        let shared = Arc::new(Shared { queue: queue.clone(), redact: Mutex::new(redact), stop: Notify::new() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let (ended, done) = sync_channel(1);
        let (sampler, logs) = (settings.sampler, settings.logs);
        let worker = Worker::new(settings, collector, shared.clone());
        let work = move || {
            runtime.block_on(worker.run());
            // The program may have ended the wait.
            let _ = ended.send(());
        };
        thread::Builder::new().name("telemetry".to_owned()).spawn(work).map_err(|error| error.to_string())?;
        if !subscriber::switch_on(queue, sampler, logs) {
            shared.stop.notify_one();
            return Err("this process exports already".to_owned());
        }
        Ok(Self { shared, done })
    }

    /// Exports these values of metrics with the next request.
    pub fn export(&self, samples: Vec<Sample>) {
        self.shared.queue.set_samples(samples);
    }

    /// Takes secrets out by another function from now on: the configuration has changed.
    pub fn redact_with(&self, redact: impl Fn(&str) -> String + Send + Sync + 'static) {
        *self.shared.redact.lock() = Arc::new(redact);
    }

    /// Sends what waits, within that time. Nothing is recorded from now on.
    pub fn finish(self, limit: Duration) {
        subscriber::switch_off();
        self.shared.stop.notify_one();
        // What a collector does not take in time is lost with the process.
        let _ = self.done.recv_timeout(limit);
    }
}

/// A request that is to be sent.
struct Pending {
    kind: &'static str,
    body: Bytes,
    /// Spans or lines in it; metrics are not counted.
    records: u64,
    attempts: u32,
}

struct Worker {
    settings: Settings,
    collector: Collector,
    encoder: Encoder,
    cleaner: Cleaner,
    /// What was encoded last, whose memory is used again.
    encoded: Waiting,
    shared: Arc<Shared>,
    pending: VecDeque<Pending>,
    /// The collector is left alone until then.
    not_before: Option<Instant>,
    /// The kinds of requests of which it was said that the collector does not take them.
    failing: BTreeSet<&'static str>,
}

impl Worker {
    fn new(settings: Settings, collector: Collector, shared: Arc<Shared>) -> Self {
        let instance = format!("{:032x}", ids::trace_id());
        let encoder = Encoder::new(&settings, &instance);
        let cleaner = Cleaner::new(shared.redact.lock().clone());
        Self {
            settings,
            collector,
            encoder,
            cleaner,
            encoded: Waiting::default(),
            shared,
            pending: VecDeque::new(),
            not_before: None,
            failing: BTreeSet::new(),
        }
    }

    async fn run(mut self) {
        loop {
            let stops = tokio::select! {
                () = tokio::time::sleep(self.settings.span_interval) => false,
                () = self.shared.queue.is_full.notified() => false,
                () = self.shared.stop.notified() => true,
            };
            if stops {
                // The last time: the collector is not waited for.
                self.not_before = None;
            }
            self.encode();
            self.send().await;
            if stops {
                return;
            }
        }
    }

    /// Makes requests of what waits.
    fn encode(&mut self) {
        let waiting = self.shared.queue.take(std::mem::take(&mut self.encoded));
        self.cleaner.redact_with(self.shared.redact.lock().clone());
        if waiting.span_count() > 0 {
            let body = self.encoder.traces(&waiting, &mut self.cleaner);
            self.add("traces", body, waiting.span_count());
        }
        if !waiting.logs.is_empty() {
            let body = self.encoder.logs(&waiting.logs, &mut self.cleaner);
            self.add("logs", body, waiting.logs.len());
        }
        if !waiting.samples.is_empty() {
            // Later values contain what earlier ones have counted.
            self.pending.retain(|pending| pending.kind != "metrics");
            let body = self.encoder.metrics(&waiting.samples, &mut self.cleaner);
            self.add("metrics", body, 0);
        }
        self.encoded = waiting;
    }

    fn add(&mut self, kind: &'static str, body: Vec<u8>, records: usize) {
        let (body, records) = (Bytes::from(body), records as u64);
        self.pending.push_back(Pending { kind, body, records, attempts: 0 });
        let is_over = |pending: &VecDeque<Pending>| {
            pending.len() > MAX_PENDING
                || pending.len() > 1 && pending.iter().map(|one| one.body.len()).sum::<usize>() > MAX_PENDING_BYTES
        };
        while is_over(&self.pending) {
            let oldest = self.pending.pop_front();
            counts::dropped(oldest.map_or(0, |oldest| oldest.records));
        }
    }

    /// Sends requests until one is not taken.
    async fn send(&mut self) {
        if self.not_before.is_some_and(|moment| Instant::now() < moment) {
            return;
        }
        self.not_before = None;
        while let Some(mut next) = self.pending.pop_front() {
            next.attempts += 1;
            match self.collector.send(next.kind, next.body.clone()).await {
                Ok(()) => {
                    counts::exported(next.records);
                    if self.failing.remove(next.kind) {
                        tracing::info!("the collector at `{}` takes {} again", self.settings.host, next.kind);
                    }
                }
                Err(Refusal { why, retry }) => {
                    if self.failing.insert(next.kind) {
                        let (host, kind) = (&self.settings.host, next.kind);
                        tracing::warn!("the collector at `{host}` takes no {kind}: {why}; turns go on without it");
                    }
                    match retry {
                        Some(wait) if next.attempts < MAX_ATTEMPTS => {
                            self.not_before = Some(Instant::now() + wait);
                            self.pending.push_front(next);
                            return;
                        }
                        _ => counts::dropped(next.records),
                    }
                    if retry.is_some() {
                        return;
                    }
                }
            }
        }
    }
}
