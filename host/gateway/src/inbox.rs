//! The gateway's state outside of tapes: accepted messages, undelivered answers, sessions, quotas, and how far each
//! channel was read. One process keeps it in a file ([`LocalInbox`](super::local_inbox::LocalInbox)); workers that
//! share a database keep it there ([`SharedInbox`](super::shared_inbox::SharedInbox)).

use super::TurnOutcome;
use super::quota::{QuotaAccount, QuotaExceeded};
use anyhow::Result;
use bub_postgres::Fence;
use bub_runtime::turn::Identity;
use bub_types::Envelope;
use jiff::Timestamp;
use std::pin::Pin;

/// The return type of every operation of an [`Inbox`].
pub(crate) type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// The number of a message, in the order of their arrival.
pub(crate) type MessageNumber = i64;

/// How long a message whose turn has ended is kept, in seconds: after that, its id is that of a new message.
pub(crate) const RETENTION: i64 = 7 * 24 * 60 * 60;

/// An accepted message whose turn has not ended.
#[derive(Debug)]
pub(crate) struct PendingMessage {
    pub number: MessageNumber,
    pub message: Envelope,
    pub identity: Option<Identity>,
    /// Whether it is addressed to the agent; one that is not waits for one that is.
    pub is_active: bool,
    /// RFC 3339.
    pub accepted_at: String,
    /// The message whose turn it is part of, if another process started that turn.
    pub leader: Option<MessageNumber>,
    /// Its place among the messages of its session, if it has one.
    pub place: Option<i64>,
}

/// The result of accepting a message.
#[derive(Debug)]
pub(crate) enum Accepted {
    /// It is new.
    New {
        number: MessageNumber,
        /// Its place among the messages of its session, if its session was given.
        place: Option<i64>,
        /// Whether its turn begins now, as after [`Inbox::begin`].
        has_begun: bool,
    },
    /// It was accepted before, and its turn has not ended.
    Pending(MessageNumber),
    /// It was accepted before, with this outcome; `None` on channels that cannot ask for it.
    Done(Option<TurnOutcome>),
    /// Another message was accepted with this id.
    Conflict,
}

/// A message to accept.
#[derive(Debug, Clone)]
pub(crate) struct NewMessage {
    pub message: Envelope,
    pub identity: Option<Identity>,
    pub is_active: bool,
    /// Its session, if it is to be queued at once. Only the first message of a call may have one.
    pub session: Option<SessionTape>,
}

/// A session and its tape.
#[derive(Debug, Clone)]
pub(crate) struct SessionTape {
    /// `None`: the session is ephemeral, and not listed.
    pub session: Option<String>,
    pub tape: String,
}

/// How far a channel was read.
#[derive(Debug, Clone)]
pub(crate) struct ReadCursor {
    pub channel: String,
    pub cursor: String,
    /// The lease of the worker that polls the channel.
    pub lease: Option<Fence>,
}

/// An answer to deliver.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    /// The same for each attempt.
    pub key: String,
    pub message: Envelope,
    /// An earlier process was interrupted during the delivery.
    pub is_uncertain: bool,
    /// The channel's handle of the preview that was shown while the turn ran.
    pub handle: Option<String>,
    /// When its turn ended.
    pub queued_at: Timestamp,
}

/// The channel that an envelope goes to.
pub(crate) fn target(envelope: &Envelope) -> &str {
    envelope.output_channel.as_ref().unwrap_or(&envelope.channel)
}

/// Whether a turn or a delivery begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Now.
    Now,
    /// Not before another one at another worker, which comes first.
    Later,
    /// Not here: another worker has taken it over.
    Elsewhere,
}

/// The state of a gateway. Every write is durable when its future is ready.
pub(crate) trait Inbox: Send + Sync {
    /// Stores messages, together with the cursor up to which their channel was read.
    fn accept(&self, messages: Vec<NewMessage>, cursor: Option<ReadCursor>) -> Future<'_, Vec<Accepted>>;

    /// Gives messages the next places in their session, and returns the first.
    fn queue(&self, numbers: Vec<MessageNumber>, session: SessionTape) -> Future<'_, Option<i64>>;

    /// Records that these messages of a tape start a turn. Their leader is the last one, which the turn's tape names.
    fn begin(&self, numbers: Vec<MessageNumber>, tape: String) -> Future<'_, Begin>;

    /// Records that these messages are given to a turn that runs, each as a message of its own.
    fn begin_steered(&self, numbers: Vec<MessageNumber>) -> Future<'_, ()>;

    /// Records that the turn of these messages has ended, and stores the answers to deliver.
    ///
    /// [`Begin::Elsewhere`]: another worker has taken the messages over, and nothing was stored.
    fn finish(
        &self,
        numbers: Vec<MessageNumber>,
        outcome: Option<String>,
        outbounds: Vec<Outbound>,
    ) -> Future<'_, Begin>;

    /// Records that a delivery starts.
    fn begin_delivery(&self, key: String) -> Future<'_, Begin>;

    /// Records that a delivery failed without an effect.
    fn mark_ready(&self, key: String) -> Future<'_, ()>;

    /// Records that an answer cannot be delivered. It is kept for inspection.
    fn mark_undeliverable(&self, key: String) -> Future<'_, ()>;

    /// Removes an answer that was delivered.
    fn remove_outbound(&self, key: String) -> Future<'_, ()>;

    /// The messages whose turns have not ended, and the answers to deliver, both in order, of an earlier process or of a
    /// worker that has ended. They are this process's from now on.
    fn adopt(&self) -> Future<'_, (Vec<PendingMessage>, Vec<Outbound>)>;

    /// The cursor up to which a channel was read.
    fn cursor(&self, channel: String) -> Future<'_, Option<String>>;

    /// Removes done messages that are older than [`RETENTION`], and returns their number.
    fn purge_done(&self) -> Future<'_, usize>;

    /// Records a session with a message.
    fn record_session(&self, session: String, tape: String) -> Future<'_, ()>;

    /// Records a session that a caller starts, unless the caller's quota of sessions is used up.
    fn start_session(
        &self,
        session: String,
        tape: String,
        account: QuotaAccount,
    ) -> Future<'_, Result<(), QuotaExceeded>>;

    /// Counts bytes that a caller adds to tapes today, unless the day's total would exceed the limit.
    fn charge(&self, account: QuotaAccount, bytes: usize, limit: Option<u64>) -> Future<'_, Result<(), QuotaExceeded>>;

    /// At most `max` sessions whose ids begin with `prefix`, in order after `after`, each with its tape.
    fn sessions(&self, prefix: String, after: Option<String>, max: usize) -> Future<'_, Vec<(String, String)>>;

    /// The session of a tape.
    fn session_of(&self, tape: String) -> Future<'_, Option<String>>;
}
