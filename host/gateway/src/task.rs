//! A message on its way through the gateway, and the reply to its sender.

use super::TurnOutcome;
use super::inbox::MessageNumber;
use super::quota::{QuotaAccount, QuotaExceeded};
use super::shared_inbox::Membership;
use bub_config::Commands;
use bub_runtime::imports::toolbox::DirectCall;
use bub_runtime::turn::{AttributedMessage, Cancel, Identity, Listener};
use bub_tape::Draft;
use bub_telemetry::TraceContext;
use bub_types::{Envelope, Principal};
use std::sync::Arc;
use tokio::sync::watch;

/// A message for the gateway.
pub struct Submission {
    /// The message. One with an id is deduplicated: a second one with the same id is the same turn.
    pub message: Envelope,
    /// The sender, unless the channel's configuration names another one.
    pub identity: Option<Identity>,
    /// Receives the events of the turn.
    pub listener: Option<Listener>,
    /// The prefix that the session's id must have.
    pub session_prefix: String,
    /// Cancels the turn, for a client that may disconnect.
    pub leave: Option<Cancel>,
    /// The messages before this one, in a session that is not stored.
    pub earlier: Vec<Draft>,
    /// Dropped when the turn has ended.
    pub lease: Option<Lease>,
    /// The account that the message is charged to; `None`: it is not charged.
    pub quota_account: Option<QuotaAccount>,
    /// A tool call in place of a message, which then has no text, no id and no other session: it is never stored, and ends
    /// with its client.
    pub call: Option<Arc<DirectCall>>,
    /// The span that the turn belongs to, of another program. It is not stored: a turn that another process runs begins a
    /// trace of its own.
    pub trace: Option<TraceContext>,
}

/// A resource that a message holds until its turn has ended, such as its part of a memory budget: released on drop.
pub type Lease = Box<dyn std::any::Any + Send + Sync>;

/// Why a message was refused.
#[derive(Debug)]
pub enum Refusal {
    /// Too many messages wait. A retry later may succeed.
    Busy,
    /// The gateway stops.
    Stopping,
    /// The session of the message is outside of the sender's scope.
    OutOfScope,
    /// The id was used for another message.
    IdempotencyConflict,
    /// The sender has used up a quota.
    Quota(QuotaExceeded),
    /// The message could not be stored.
    Storage(anyhow::Error),
}

/// The reply to a message: resolves when its turn ends.
#[derive(Clone)]
pub struct Reply(watch::Receiver<Option<Arc<TurnOutcome>>>);

impl Reply {
    /// A reply that is known already.
    pub(crate) fn from_outcome(outcome: TurnOutcome) -> Self {
        Self(watch::channel(Some(Arc::new(outcome))).1)
    }

    /// Waits for the end of the turn. `None`: the process ends before the turn does.
    pub async fn outcome(mut self) -> Option<Arc<TurnOutcome>> {
        let outcome = self.0.wait_for(Option::is_some).await.ok()?;
        outcome.clone()
    }
}

/// Resolves the [`Reply`] to a message.
pub(crate) struct ReplySender(watch::Sender<Option<Arc<TurnOutcome>>>);

impl ReplySender {
    pub(crate) fn new() -> (Self, Reply) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Reply(receiver))
    }

    /// The reply that this resolves.
    pub(crate) fn reply(&self) -> Reply {
        Reply(self.0.subscribe())
    }

    pub(crate) fn send(&self, outcome: &Arc<TurnOutcome>) {
        // Without a receiver there is nothing to do.
        let _ = self.0.send(Some(Arc::clone(outcome)));
    }
}

/// A message that waits for its turn.
pub(crate) struct Task {
    /// The numbers of its messages in the inbox database, in order: several where they were merged, none without an id.
    pub numbers: Vec<MessageNumber>,
    pub said: AttributedMessage,
    pub listener: Option<Listener>,
    pub leave: Option<Cancel>,
    /// The prefix that the session's id must have.
    pub session_prefix: String,
    /// The messages before this one, in a session that is not stored.
    pub earlier: Vec<Draft>,
    pub reply_sender: ReplySender,
    /// The leases of all its messages, dropped when the turn has ended.
    pub leases: Vec<Lease>,
    /// The account that it is charged to.
    pub quota_account: Option<QuotaAccount>,
    /// A tool call in place of the message.
    pub call: Option<Arc<DirectCall>>,
    /// The span that the turn belongs to, of another program.
    pub trace: Option<TraceContext>,
    /// When the message was accepted, if an earlier process had started its turn: RFC 3339.
    pub interrupted_since: Option<String>,
    /// Its place among the messages of its session, where workers share them.
    pub place: Option<i64>,
    /// The membership under which it is recorded that its turn begins.
    pub begun_as: Option<Arc<Membership>>,
    /// How many failovers had lost writes when it was stored: after a further one its rows may be missing.
    pub losses: u64,
}

impl Task {
    /// The task of a message in the inbox database, without a listener, and the reply to it.
    pub(crate) fn from_stored(number: MessageNumber, said: AttributedMessage) -> (Self, Reply) {
        let (reply_sender, reply) = ReplySender::new();
        let task = Self {
            numbers: vec![number],
            said,
            listener: None,
            leave: None,
            session_prefix: String::new(),
            earlier: Vec::new(),
            reply_sender,
            leases: Vec::new(),
            quota_account: None,
            call: None,
            trace: None,
            interrupted_since: None,
            place: None,
            begun_as: None,
            losses: 0,
        };
        (task, reply)
    }

    /// Merges a later message of the same chat into this one. Of several senders, none keeps their privileges.
    pub(crate) fn merge(&mut self, later: Self) {
        let before = std::mem::replace(self, later);
        let message = &mut self.said.message;
        if before.said.message.sender != message.sender {
            message.sender = None;
            message.context.retain(|(key, _)| key != "sender_id");
        }
        if before.said.identity != self.said.identity {
            let session_prefix = message.session_id.clone().unwrap_or_default();
            let (principal, commands) = (Principal::Anonymous, Commands::None);
            self.said.identity = Some(Identity { principal, commands, session_prefix, taint: None });
        }
        message.content = format!("{}\n{}", before.said.message.content, message.content);
        message.passages.splice(0..0, before.said.message.passages);
        message.media.splice(0..0, before.said.message.media);
        self.numbers.splice(0..0, before.numbers);
        self.leases.extend(before.leases);
        self.interrupted_since = before.interrupted_since.or(self.interrupted_since.take());
        self.place = before.place.or(self.place);
    }
}
