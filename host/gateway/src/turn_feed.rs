//! The stream of a turn, for readers that come while the turn runs, or come back.

use super::TurnOutcome;
use super::inbox::MessageNumber;
use bub_runtime::turn::TurnEvent;
use bub_types::StreamEvent;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// Bytes of a running turn that are kept.
const MAX_RUNNING: usize = 1 << 20;

/// Bytes of an ended turn that are kept.
const MAX_ENDED: usize = 64 << 10;

/// Ended turns that are kept for each session.
const MAX_TURNS: usize = 2;

/// Sessions whose ended turns are kept.
const MAX_SESSIONS: usize = 64;

/// A part of the stream of a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum StreamItem {
    /// The turn of these messages begins.
    Begins {
        /// Their numbers in the inbox.
        messages: Vec<i64>,
    },
    /// A message steers the turn.
    Joins {
        /// Its number in the inbox.
        message: i64,
    },
    /// An event that the model hook emits.
    Event(StreamEvent),
    /// A request to a model's server failed and is retried.
    Retry {
        /// The reason.
        why: String,
        /// The delay before the retry, in milliseconds.
        pause_ms: u64,
    },
    /// A tool call starts.
    ToolBegins {
        /// Identifies the call in its turn.
        call: u64,
        /// The tool's dotted name.
        name: String,
        /// Its arguments, as the tool gets them.
        arguments: String,
    },
    /// A tool call ends.
    ToolEnds {
        /// The id of the call, as when it started.
        call: u64,
        /// How long it took, in milliseconds.
        took_ms: u64,
        /// The error, if the call failed.
        error: Option<String>,
    },
    /// The turn has ended. `None`: another worker has taken it over.
    Ends(Option<Box<TurnOutcome>>),
}

impl StreamItem {
    /// `None`: the event repeats what the outcome has.
    pub(crate) fn of_event(event: &TurnEvent) -> Option<Self> {
        let milliseconds = |duration: &std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Some(match event {
            TurnEvent::Event(StreamEvent::Final(_)) => return None,
            TurnEvent::Event(event) => Self::Event(event.clone()),
            TurnEvent::Retry { why, pause } => Self::Retry { why: why.clone(), pause_ms: milliseconds(pause) },
            TurnEvent::ToolBegins { call, name, arguments, .. } => {
                Self::ToolBegins { call: *call, name: name.clone(), arguments: arguments.clone() }
            }
            TurnEvent::ToolEnds { call, took, outcome } => {
                let error = outcome.as_ref().err().cloned();
                Self::ToolEnds { call: *call, took_ms: milliseconds(took), error }
            }
        })
    }

    /// About the bytes that it takes.
    fn size(&self) -> usize {
        let text = match self {
            Self::Event(StreamEvent::ToolCalls(calls)) => calls.iter().map(|call| call.arguments.len()).sum(),
            Self::Event(
                StreamEvent::Text(text)
                | StreamEvent::Reasoning(text)
                | StreamEvent::ToolResults(text)
                | StreamEvent::Usage(text)
                | StreamEvent::Final(text),
            ) => text.len(),
            Self::ToolBegins { arguments, .. } => arguments.len(),
            Self::Begins { .. }
            | Self::Joins { .. }
            | Self::Event(StreamEvent::Error(_))
            | Self::Retry { .. }
            | Self::ToolEnds { .. }
            | Self::Ends(_) => 0,
        };
        size_of::<Self>() + text
    }
}

/// What a turn does now, by its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It has emitted nothing yet: hooks prepare the prompt, or the model is asked.
    Prepares,
    /// The model thinks or answers.
    Answers,
    /// A request to the model is repeated after a pause.
    Retries,
    /// Tools are called; the dotted name of the latest.
    CallsTool(String),
}

/// The stream of a turn.
pub(crate) struct TurnFeed {
    /// When the turn began.
    pub(crate) since: Timestamp,
    /// The name of the turn: another one for each attempt.
    pub(crate) turn: String,
    kept: Mutex<Kept>,
    /// The number of items so far.
    count: watch::Sender<u64>,
    /// Whether it is written to the database for readers at other workers.
    is_published: AtomicBool,
}

#[derive(Default)]
struct Kept {
    items: VecDeque<Arc<StreamItem>>,
    bytes: usize,
    has_ended: bool,
    stage: Option<Stage>,
    /// Model calls that ended in tool calls.
    steps: u64,
}

impl Kept {
    fn note(&mut self, item: &StreamItem) {
        let stage = match item {
            StreamItem::Event(StreamEvent::Text(_) | StreamEvent::Reasoning(_)) => Stage::Answers,
            StreamItem::Event(StreamEvent::ToolCalls(_)) => {
                self.steps += 1;
                return;
            }
            StreamItem::Retry { .. } => Stage::Retries,
            StreamItem::ToolBegins { name, .. } => Stage::CallsTool(name.clone()),
            StreamItem::ToolEnds { .. } => Stage::Prepares,
            _ => return,
        };
        self.stage = Some(stage);
    }
}

/// Items of a turn in order.
pub(crate) struct Chunk {
    /// The position of the first one.
    pub(crate) first: u64,
    pub(crate) items: Vec<Arc<StreamItem>>,
    /// Whether the last one is the turn's last.
    pub(crate) is_last: bool,
}

impl TurnFeed {
    fn new(turn: String) -> Self {
        let (count, is_published) = (watch::Sender::new(0), AtomicBool::new(false));
        Self { since: Timestamp::now(), turn, kept: Mutex::default(), count, is_published }
    }

    pub(crate) fn push(&self, item: StreamItem) {
        let mut kept = self.kept.lock();
        kept.bytes += item.size();
        kept.has_ended |= matches!(item, StreamItem::Ends(_));
        kept.note(&item);
        kept.items.push_back(Arc::new(item));
        let max = if kept.has_ended { MAX_ENDED } else { MAX_RUNNING };
        while kept.bytes > max
            && kept.items.len() > 1
            && let Some(oldest) = kept.items.pop_front()
        {
            kept.bytes -= oldest.size();
        }
        // Under the lock, so that the number is that of the items.
        self.count.send_modify(|count| *count += 1);
    }

    /// What the turn does now, and the number of steps so far.
    pub(crate) fn stage(&self) -> (Stage, u64) {
        let kept = self.kept.lock();
        (kept.stage.clone().unwrap_or(Stage::Prepares), kept.steps)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.kept.lock().has_ended
    }

    /// Whether the caller is the first that publishes it.
    pub(crate) fn claim_publishing(&self) -> bool {
        !self.is_published.swap(true, Ordering::Relaxed)
    }

    /// Waits for items from that position on; none follow the last one. Cancel safe.
    pub(crate) async fn after(&self, position: u64) -> Chunk {
        let mut count = self.count.subscribe();
        // A reader names its position.
        let position = position.min(*count.borrow());
        if !self.has_ended() {
            // The sender lives as long as this.
            let _grown = count.wait_for(|count| *count > position).await;
        }
        let kept = self.kept.lock();
        let count = *self.count.borrow();
        let first = position.max(count - kept.items.len() as u64);
        let items = kept.items.iter().rev().take(usize::try_from(count - first).unwrap_or_default());
        let mut items: Vec<_> = items.cloned().collect();
        items.reverse();
        Chunk { first, items, is_last: kept.has_ended }
    }
}

/// The streams of this process, by session.
#[derive(Default)]
pub(crate) struct TurnFeeds {
    sessions: Mutex<Sessions>,
    /// Changes when a turn begins.
    begun: watch::Sender<u64>,
}

#[derive(Default)]
struct Sessions {
    feeds: HashMap<String, VecDeque<Arc<TurnFeed>>>,
    /// Sessions whose turns have ended, longest ago first.
    idle: VecDeque<String>,
}

impl TurnFeeds {
    /// The stream of a turn that begins.
    pub(crate) fn begin(&self, session: &str, turn: &str, messages: Vec<MessageNumber>) -> Arc<TurnFeed> {
        let feed = Arc::new(TurnFeed::new(turn.to_owned()));
        feed.push(StreamItem::Begins { messages });
        let mut sessions = self.sessions.lock();
        sessions.idle.retain(|idle| idle != session);
        let feeds = sessions.feeds.entry(session.to_owned()).or_default();
        feeds.truncate(MAX_TURNS);
        feeds.push_front(Arc::clone(&feed));
        drop(sessions);
        self.begun.send_modify(|begun| *begun += 1);
        feed
    }

    /// Ends the stream of the session's turn.
    pub(crate) fn end(&self, session: &str, feed: &TurnFeed, outcome: Option<&TurnOutcome>) {
        feed.push(StreamItem::Ends(outcome.cloned().map(Box::new)));
        let mut sessions = self.sessions.lock();
        sessions.idle.push_back(session.to_owned());
        if sessions.idle.len() > MAX_SESSIONS
            && let Some(oldest) = sessions.idle.pop_front()
        {
            sessions.feeds.remove(&oldest);
        }
    }

    /// Adds messages to the turn that runs in the session.
    pub(crate) fn join(&self, session: &str, messages: &[MessageNumber]) {
        if let Some(feed) = self.running(session) {
            messages.iter().for_each(|message| feed.push(StreamItem::Joins { message: *message }));
        }
    }

    /// The stream of the turn that runs in the session.
    pub(crate) fn running(&self, session: &str) -> Option<Arc<TurnFeed>> {
        self.of(session).into_iter().next_back().filter(|feed| !feed.has_ended())
    }

    /// The streams of the session that are kept, oldest first.
    pub(crate) fn of(&self, session: &str) -> Vec<Arc<TurnFeed>> {
        self.sessions.lock().feeds.get(session).into_iter().flatten().rev().cloned().collect()
    }

    /// Changes when a turn begins.
    pub(crate) fn begun(&self) -> watch::Receiver<u64> {
        self.begun.subscribe()
    }
}
