//! How a caller takes part in a turn: cancellation, a listener for its events, and steering messages.

use crate::channel::Channel;
use bub_blame::TrailSink;
use bub_config::Commands;
use bub_permissions::policy::ApprovalMode;
use bub_tape::Draft;
use bub_telemetry::TraceContext;
use bub_types::{Envelope, Principal, StreamEvent};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tracing::field::{self, Value};

/// Messages that wait to steer one turn.
const MAX_WAITING: usize = 64;

/// An event of a turn, for its listener.
#[derive(Debug)]
pub enum TurnEvent {
    /// An event that the model hook emits.
    Event(StreamEvent),
    /// A request to a model's server failed and is retried.
    Retry {
        /// The reason.
        why: String,
        /// The delay before the retry.
        pause: Duration,
    },
    /// A tool call starts.
    ToolBegins {
        /// Identifies the call among concurrent calls, including those of nested turns.
        call: u64,
        /// The tool's dotted name.
        name: String,
        /// Its arguments, as the tool gets them.
        arguments: String,
        /// How many nested turns the call is inside of.
        nested: usize,
    },
    /// A tool call ends.
    ToolEnds {
        /// The id of the call, as when it started.
        call: u64,
        /// How long it took, including the approval.
        took: Duration,
        /// Its result as the model gets it, JSON, or the error's message.
        outcome: Result<String, String>,
    },
}

/// Cancels a turn when it becomes `true`.
pub type Cancel = watch::Receiver<bool>;

/// Receives turn events. Senders wait while it is full.
pub type Listener = mpsc::Sender<TurnEvent>;

/// The authenticated sender of a message, in place of what the channel's configuration says of the sender.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The sender's principal.
    pub principal: Principal,
    /// Which commands a line that begins with a comma may be.
    pub commands: Commands,
    /// The prefix of all session ids that the sender can reach; empty: all sessions.
    #[serde(default)]
    pub session_prefix: String,
    /// Why the turn begins tainted although the sender may be the owner: the text of another author may be in the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taint: Option<String>,
}

/// A message with its authenticated sender, if there is one.
#[derive(Debug, Clone)]
pub struct AttributedMessage {
    /// Returns the message if the queue is full.
    pub message: Envelope,
    /// None: the channel's configuration decides.
    pub identity: Option<Identity>,
}

impl From<Envelope> for AttributedMessage {
    fn from(message: Envelope) -> Self {
        Self { message, identity: None }
    }
}

/// Messages that arrive for a session while one of its turns runs, in order.
#[derive(Clone, Default)]
pub struct Steering(Arc<Mutex<VecDeque<AttributedMessage>>>);

impl Steering {
    /// Queues a message for the turn's next step.
    ///
    /// # Errors
    ///
    /// The message.
    pub fn push(&self, said: impl Into<AttributedMessage>) -> Result<(), Box<AttributedMessage>> {
        let said = said.into();
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_WAITING {
            return Err(Box::new(said));
        }
        waiting.push_back(said);
        Ok(())
    }

    /// Removes all queued messages. Messages that are left after the turn need turns of their own.
    pub fn take(&self) -> Vec<AttributedMessage> {
        self.waiting().drain(..).collect()
    }

    /// The number of queued messages.
    pub fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Puts messages back in front of the queue.
    pub(super) fn put_back(&self, messages: impl Iterator<Item = AttributedMessage>) {
        let mut waiting = self.waiting();
        let later = std::mem::take(&mut *waiting);
        waiting.extend(messages.chain(later));
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<AttributedMessage>> {
        self.0.lock()
    }
}

/// Is told of each tool call of a turn, turns inside of it included, before anything of the call is done: its number, its
/// tool's dotted name, and its arguments. It must not block for long.
pub type CallObserver = Arc<dyn Fn(u64, &str, &str) + Send + Sync>;

/// When tool calls need the owner's approval, in place of what `[policy]` and the command line say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRules {
    /// The mode.
    pub mode: ApprovalMode,
    /// Effects that are approved in advance.
    pub allowed: Vec<String>,
}

/// Whether a turn may begin.
pub type Permit = Arc<dyn Fn() -> bool + Send + Sync>;

/// Options of a turn.
#[derive(Clone)]
pub struct TurnOptions {
    pub(super) cancel: Cancel,
    /// For a nested turn: cancelled when the call that waits for it is dropped.
    abandoned: Option<Cancel>,
    pub(super) listener: Option<Listener>,
    steering: Steering,
    permit: Option<Permit>,
    pub(super) identity: Option<Identity>,
    channel: Option<Arc<dyn Channel>>,
    session: Option<String>,
    pub(super) approval: Option<watch::Receiver<ApprovalRules>>,
    pub(super) call_observer: Option<CallObserver>,
    /// The history that an ephemeral session starts with.
    earlier: Vec<Draft>,
    /// Whether the turn has no message and no model.
    pub(super) is_direct: bool,
    /// The span of another program that the turn belongs to.
    trace: Option<TraceContext>,
    /// Who wants the making of its requests kept.
    pub(super) trails: Option<TrailSink>,
}

impl TurnOptions {
    /// Options with nothing but cancellation.
    pub fn new(cancel: Cancel) -> Self {
        Self {
            cancel,
            abandoned: None,
            listener: None,
            steering: Steering::default(),
            permit: None,
            identity: None,
            channel: None,
            session: None,
            approval: None,
            call_observer: None,
            earlier: Vec::new(),
            is_direct: false,
            trace: None,
            trails: None,
        }
    }

    /// Keeps the making of each model request, and hands it to `sink` when the request is sent.
    #[must_use]
    pub fn with_trails(self, sink: TrailSink) -> Self {
        Self { trails: Some(sink), ..self }
    }

    /// Sends the turn's events to `listener`.
    #[must_use]
    pub fn with_listener(self, listener: Listener) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Takes steering messages from that queue before each step.
    #[must_use]
    pub fn with_steering(self, steering: Steering) -> Self {
        Self { steering, ..self }
    }

    /// Asks that once more when the turn has the lease of its session, before it writes anything: whether it is still this
    /// process that is to run it. Without the answer `true` the turn ends as if it had been cancelled.
    #[must_use]
    pub fn with_permit(self, permit: Permit) -> Self {
        Self { permit: Some(permit), ..self }
    }

    pub(super) fn is_permitted(&self) -> bool {
        self.permit.as_ref().is_none_or(|permit| permit())
    }

    /// Sets the authenticated sender, in place of what the channel's configuration says.
    #[must_use]
    pub fn with_identity(self, identity: Option<Identity>) -> Self {
        Self { identity, ..self }
    }

    /// Delivers to that channel what no plugin delivers, in place of the host's channel.
    #[must_use]
    pub fn with_channel(self, channel: Arc<dyn Channel>) -> Self {
        Self { channel: Some(channel), ..self }
    }

    /// Sets the session, if it is resolved already.
    #[must_use]
    pub fn with_session(self, session: String) -> Self {
        Self { session: Some(session), ..self }
    }

    /// Sets when tool calls need approval. A change holds for the calls that follow it.
    #[must_use]
    pub fn with_approval(self, approval: watch::Receiver<ApprovalRules>) -> Self {
        Self { approval: Some(approval), ..self }
    }

    /// Tells `observer` of each tool call before it is made.
    #[must_use]
    pub fn with_call_observer(self, observer: CallObserver) -> Self {
        Self { call_observer: Some(observer), ..self }
    }

    /// Sets the history that an ephemeral session starts with.
    #[must_use]
    pub fn with_history(self, earlier: Vec<Draft>) -> Self {
        Self { earlier, ..self }
    }

    /// Makes the turn a part of a trace that another program began.
    #[must_use]
    pub fn with_trace(self, trace: Option<TraceContext>) -> Self {
        Self { trace, ..self }
    }

    /// The field of the turn's span that names its parent.
    pub(super) fn parent(&self) -> Option<impl Value + use<>> {
        self.trace.map(field::display)
    }

    /// The turn has no message and no model.
    #[must_use]
    pub(super) fn directly(self) -> Self {
        Self { is_direct: true, ..self }
    }

    pub(super) fn take_history(&mut self) -> Vec<Draft> {
        std::mem::take(&mut self.earlier)
    }

    pub(super) fn session(&self) -> Option<String> {
        self.session.clone()
    }

    pub(super) fn channel(&self) -> Option<Arc<dyn Channel>> {
        self.channel.clone()
    }

    pub(super) fn steering(&self) -> &Steering {
        &self.steering
    }

    /// The options of a nested turn: the same cancellation, and no listener or steering of its own.
    pub(super) fn for_inner(&self) -> Self {
        let (abandoned, trails) = (self.abandoned.clone(), self.trails.clone());
        Self { abandoned, trails, ..Self::new(self.cancel.clone()) }
    }

    /// Cancels the turn also when the call that waits for it is dropped.
    #[must_use]
    pub(super) fn with_abandoned(self, abandoned: Cancel) -> Self {
        Self { abandoned: Some(abandoned), ..self }
    }

    /// Returns when the turn is cancelled.
    pub(super) async fn cancelled(&self) {
        let abandoned = async {
            match self.abandoned.clone() {
                Some(abandoned) => cancelled(abandoned).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancelled(self.cancel.clone()) => {}
            () = abandoned => {}
        }
    }
}

/// Returns when `cancel` becomes `true`. A dropped sender cannot cancel.
async fn cancelled(mut cancel: Cancel) {
    if cancel.wait_for(|cancelled| *cancelled).await.is_err() {
        std::future::pending::<()>().await;
    }
}
