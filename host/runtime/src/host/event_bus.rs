//! What happens, told to whoever looks on, and counted. Nobody who tells waits, and nobody who looks on is waited for.

use bub_model::usage::Tokens;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};

/// How many of the newest are kept for a reader who is slow.
const CAPACITY: usize = 1024;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum RuntimeEvent {
    /// A message was taken on a channel.
    Taken {
        /// The channel's name.
        channel: String,
    },
    /// A message that a channel brought was not taken: it breaks a rule. The channel goes on without it.
    Refused {
        /// The channel's name.
        channel: String,
        /// The message's name, and which rule.
        reason: String,
    },
    /// A turn begins.
    TurnBegins,
    /// It is over.
    TurnEnds {
        /// How long it took.
        took: Duration,
        /// What its model calls have used.
        usage: Tokens,
        /// Why there is no answer.
        error: Option<String>,
    },
    /// A tool begins to run.
    ToolBegins {
        /// Its dotted name.
        tool: String,
    },
    /// It is done.
    ToolEnds {
        /// How long it took.
        took: Duration,
        /// What was wrong; none: it gave a result.
        error: Option<String>,
    },
    /// A plugin broke a call.
    Fault {
        /// Its name.
        plugin: String,
        /// The export that was called.
        hook: &'static str,
        /// What it did.
        what: String,
    },
    /// A plugin was refused something.
    Denied {
        /// Its name.
        plugin: String,
        /// What would have been needed.
        grant: String,
    },
    /// A caller was refused something because a quota is used up.
    QuotaExceeded {
        /// The caller's name.
        caller: String,
        /// The quota's key in the configuration.
        quota: &'static str,
    },
    /// An answer reached its channel, or never will.
    Delivered {
        /// The channel's name.
        channel: String,
        /// Why not.
        error: Option<String>,
    },
}

/// An event, and the session that they are of; empty, where they are of none.
#[derive(Debug, Clone)]
pub struct EventRecord {
    /// What happened.
    pub event: RuntimeEvent,
    /// In which session.
    pub session: String,
}

/// How often what has happened, since the program began.
#[derive(Debug, Default, Clone)]
pub struct Counters {
    /// Messages that were taken.
    pub taken: u64,
    /// Messages that channels brought and that break a rule.
    pub refused: u64,
    /// Turns that gave an answer.
    pub answered: u64,
    /// Turns that failed.
    pub failed: u64,
    /// How long all of them took.
    pub took: Duration,
    /// What their model calls have used.
    pub usage: Tokens,
    /// Tool calls that gave a result.
    pub tools: u64,
    /// Tool calls that failed.
    pub tools_failed: u64,
    /// Refusals to plugins.
    pub denied: u64,
    /// Refusals to callers, by the quota that was used up.
    pub quotas: BTreeMap<&'static str, u64>,
    /// Answers that reached their channels.
    pub delivered: u64,
    /// Answers that never will.
    pub undeliverable: u64,
}

/// Where news come together.
#[derive(Debug)]
pub struct EventBus {
    sender: broadcast::Sender<EventRecord>,
    counters: Mutex<Counters>,
}

impl Default for EventBus {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(CAPACITY), counters: Mutex::default() }
    }
}

impl EventBus {
    /// Counts it, and tells it to whoever looks on.
    pub fn publish(&self, event: RuntimeEvent, session: &str) {
        self.counters.lock().count(&event);
        // Nothing is copied for nobody.
        if self.sender.receiver_count() > 0 {
            let _ = self.sender.send(EventRecord { event, session: session.to_owned() });
        }
    }

    /// What has been counted so far.
    pub fn counters(&self) -> Counters {
        self.counters.lock().clone()
    }

    /// Looks on from here.
    pub fn subscribe(&self) -> Subscriber {
        Subscriber(self.sender.subscribe())
    }
}

/// Somebody who looks on.
#[derive(Debug)]
pub struct Subscriber(broadcast::Receiver<EventRecord>);

impl Subscriber {
    /// What happens next, or how many news were missed because the reader was slow.
    pub async fn next(&mut self) -> Result<EventRecord, u64> {
        match self.0.recv().await {
            Ok(record) => Ok(record),
            Err(RecvError::Lagged(missed)) => Err(missed),
            // Whoever reads news holds the host that tells them.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Counters {
    fn count(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::Taken { .. } => self.taken += 1,
            RuntimeEvent::Refused { .. } => self.refused += 1,
            RuntimeEvent::TurnBegins | RuntimeEvent::ToolBegins { .. } | RuntimeEvent::Fault { .. } => {}
            RuntimeEvent::TurnEnds { took, usage, error } => {
                *if error.is_none() { &mut self.answered } else { &mut self.failed } += 1;
                self.took += *took;
                self.usage.add(*usage);
            }
            RuntimeEvent::ToolEnds { error: None, .. } => self.tools += 1,
            RuntimeEvent::ToolEnds { .. } => self.tools_failed += 1,
            RuntimeEvent::Denied { .. } => self.denied += 1,
            RuntimeEvent::QuotaExceeded { quota, .. } => *self.quotas.entry(*quota).or_default() += 1,
            RuntimeEvent::Delivered { error: None, .. } => self.delivered += 1,
            RuntimeEvent::Delivered { .. } => self.undeliverable += 1,
        }
    }
}
