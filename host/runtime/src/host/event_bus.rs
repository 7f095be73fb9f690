//! The event bus: publishes and counts runtime events. Publishers never block, and slow subscribers miss events.

use bub_model::usage::Tokens;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};

/// Events that are buffered for a slow subscriber.
const CAPACITY: usize = 1024;

/// A runtime event.
#[derive(Debug, Clone)]
pub enum RuntimeEvent {
    /// A channel's message was accepted.
    Taken {
        /// The channel's name.
        channel: String,
    },
    /// A channel's message was rejected because it breaks a rule.
    Refused {
        /// The channel's name.
        channel: String,
        /// The message's name, and the rule.
        reason: String,
    },
    /// A turn starts.
    TurnBegins,
    /// A turn ends.
    TurnEnds {
        /// How long it took.
        took: Duration,
        /// Tokens that its model calls used.
        usage: Tokens,
        /// The failure, if the turn failed.
        error: Option<String>,
    },
    /// A tool call starts.
    ToolBegins {
        /// Its dotted name.
        tool: String,
    },
    /// A tool call ends.
    ToolEnds {
        /// How long it took.
        took: Duration,
        /// The error, if the call failed.
        error: Option<String>,
    },
    /// A call into a plugin ended in a fault.
    Fault {
        /// Its name.
        plugin: String,
        /// The export that was called.
        hook: &'static str,
        /// The fault.
        what: String,
    },
    /// Plugins were added, replaced or removed.
    PluginsChanged {
        /// Their names.
        plugins: Vec<String>,
    },
    /// A plugin was denied access.
    Denied {
        /// Its name.
        plugin: String,
        /// The grant that it lacks.
        grant: String,
    },
    /// A caller was rejected because a quota is exhausted.
    QuotaExceeded {
        /// The caller's name.
        caller: String,
        /// The quota's key in the configuration.
        quota: &'static str,
    },
    /// The owner is asked about a tool call.
    ApprovalAsked {
        /// The name of the question.
        id: String,
        /// The dotted name of the tool.
        tool: String,
    },
    /// The owner has answered.
    ApprovalAnswered {
        /// The name of the question.
        id: String,
        /// `once`, `session`, `no` or `never`.
        decision: &'static str,
        /// Who answered.
        by: String,
    },
    /// An answer was delivered, or was given up.
    Delivered {
        /// The channel's name.
        channel: String,
        /// Why it was given up.
        error: Option<String>,
    },
}

/// An event with its session; the session is empty where the event has none.
#[derive(Debug, Clone)]
pub struct EventRecord {
    /// The event.
    pub event: RuntimeEvent,
    /// The session's id.
    pub session: String,
}

/// Event counts since the program started.
#[derive(Debug, Default, Clone)]
pub struct Counters {
    /// Messages that were accepted.
    pub taken: u64,
    /// Messages that were rejected.
    pub refused: u64,
    /// Turns that succeeded.
    pub answered: u64,
    /// Turns that failed.
    pub failed: u64,
    /// Total duration of all turns.
    pub took: Duration,
    /// Tokens that their model calls used.
    pub usage: Tokens,
    /// Tool calls that succeeded.
    pub tools: u64,
    /// Tool calls that failed.
    pub tools_failed: u64,
    /// Denials to plugins.
    pub denied: u64,
    /// Rejections of callers, by exhausted quota.
    pub quotas: BTreeMap<&'static str, u64>,
    /// Answers that were delivered.
    pub delivered: u64,
    /// Answers that were given up.
    pub undeliverable: u64,
}

/// Publishes events to subscribers, and counts them.
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
    /// Counts the event and sends it to the subscribers.
    pub fn publish(&self, event: RuntimeEvent, session: &str) {
        self.counters.lock().count(&event);
        // Without subscribers nothing is copied.
        if self.sender.receiver_count() > 0 {
            let _ = self.sender.send(EventRecord { event, session: session.to_owned() });
        }
    }

    /// The counts so far.
    pub fn counters(&self) -> Counters {
        self.counters.lock().clone()
    }

    /// Subscribes to the events from now on.
    pub fn subscribe(&self) -> Subscriber {
        Subscriber(self.sender.subscribe())
    }
}

/// Receives events.
#[derive(Debug)]
pub struct Subscriber(broadcast::Receiver<EventRecord>);

impl Subscriber {
    /// The next event, or the number of events that were missed because the subscriber was slow.
    pub async fn next(&mut self) -> Result<EventRecord, u64> {
        match self.0.recv().await {
            Ok(record) => Ok(record),
            Err(RecvError::Lagged(missed)) => Err(missed),
            // A subscriber holds the host that owns the sender.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Counters {
    fn count(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::Taken { .. } => self.taken += 1,
            RuntimeEvent::Refused { .. } => self.refused += 1,
            RuntimeEvent::TurnBegins
            | RuntimeEvent::ToolBegins { .. }
            | RuntimeEvent::Fault { .. }
            | RuntimeEvent::PluginsChanged { .. }
            | RuntimeEvent::ApprovalAsked { .. }
            | RuntimeEvent::ApprovalAnswered { .. } => {}
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
