//! Who attends a turn from outside: who may end it, who listens, and what is said to it while it runs.

use super::Turn;
use crate::channel::Channel;
use crate::host::RuntimeEvent;
use bub_config::Commands;
use bub_tape::Draft;
use bub_types::{Envelope, Error, Principal, StreamEvent};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Messages that wait to steer one turn.
const MAX_WAITING: usize = 64;

/// What whoever listens to a turn hears of it, as it happens.
#[derive(Debug)]
pub enum TurnEvent {
    /// What the model hook emits.
    Event(StreamEvent),
    /// A model's server did not answer, and is asked again.
    Retry {
        /// What was wrong.
        why: String,
        /// How long it is left alone.
        pause: Duration,
    },
    /// A tool begins to run.
    ToolBegins {
        /// Tells calls that run at the same time apart; one of a turn inside the turn too.
        call: u64,
        /// The tool's dotted name.
        name: String,
        /// Its arguments, as the tool gets them.
        arguments: String,
        /// How many turns the call is inside of, beyond the one that is listened to.
        nested: usize,
    },
    /// The call is over.
    ToolEnds {
        /// As it began.
        call: u64,
        /// How long it took, the question whether it may be made included.
        took: Duration,
        /// What was wrong; none: it gave a result.
        error: Option<String>,
    },
}

/// Ends a turn from outside: `true` cancels it.
pub type Cancel = watch::Receiver<bool>;

/// Takes what is heard. Whoever speaks waits while the listener is slow.
pub type Listener = mpsc::Sender<TurnEvent>;

/// Who says a message, where that is known better than the channel's configuration knows it: by what was shown to be let in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Who they are to this program.
    pub principal: Principal,
    /// What a line that begins with a comma may be, when they say it.
    pub commands: Commands,
    /// What the ids of all sessions begin with that they reach; empty: they reach all.
    #[serde(default)]
    pub session_prefix: String,
}

/// A message, and who says it where the channel's configuration does not know better.
#[derive(Debug, Clone)]
pub struct AttributedMessage {
    /// The message.
    pub message: Envelope,
    /// None: who the channel's configuration says that it is.
    pub identity: Option<Identity>,
}

impl From<Envelope> for AttributedMessage {
    fn from(message: Envelope) -> Self {
        Self { message, identity: None }
    }
}

/// Messages that people say to a session while a turn of it runs, in their order.
#[derive(Clone, Default)]
pub struct Steering(Arc<Mutex<VecDeque<AttributedMessage>>>);

impl Steering {
    /// Takes a message for the turn's next step, or gives it back when too many wait.
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

    /// All that wait. After the turn: what nobody has taken, which wants turns of its own.
    pub fn take(&self) -> Vec<AttributedMessage> {
        self.waiting().drain(..).collect()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// What was taken too soon, in front of what has come since.
    pub(super) fn put_back(&self, messages: impl Iterator<Item = AttributedMessage>) {
        let mut waiting = self.waiting();
        let later = std::mem::take(&mut *waiting);
        waiting.extend(messages.chain(later));
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<AttributedMessage>> {
        self.0.lock()
    }
}

/// Who attends a turn.
#[derive(Clone)]
pub struct TurnOptions {
    pub(super) cancel: Cancel,
    /// Of a turn inside a turn: cancelled when the call that waits for it is gone.
    abandoned: Option<Cancel>,
    listener: Option<Listener>,
    steering: Steering,
    pub(super) identity: Option<Identity>,
    channel: Option<Arc<dyn Channel>>,
    session: Option<String>,
    /// What a session of which nothing is kept begins with.
    earlier: Vec<Draft>,
}

impl TurnOptions {
    /// Nobody but who may end the turn.
    pub fn new(cancel: Cancel) -> Self {
        Self {
            cancel,
            abandoned: None,
            listener: None,
            steering: Steering::default(),
            identity: None,
            channel: None,
            session: None,
            earlier: Vec::new(),
        }
    }

    /// Somebody listens, too.
    #[must_use]
    pub fn with_listener(self, listener: Listener) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// What is put there is said to the turn before its next step.
    #[must_use]
    pub fn with_steering(self, steering: Steering) -> Self {
        Self { steering, ..self }
    }

    /// It is they who speak, whatever the channel's configuration says of the sender.
    #[must_use]
    pub fn with_identity(self, identity: Option<Identity>) -> Self {
        Self { identity, ..self }
    }

    /// What no plugin delivers goes there, in place of the host's channel.
    #[must_use]
    pub fn with_channel(self, channel: Arc<dyn Channel>) -> Self {
        Self { channel: Some(channel), ..self }
    }

    /// The session was found already, so that the turn could wait for its place in it.
    #[must_use]
    pub fn with_session(self, session: String) -> Self {
        Self { session: Some(session), ..self }
    }

    /// This was said before, in a session of which nothing is kept: it begins with it.
    #[must_use]
    pub fn with_history(self, earlier: Vec<Draft>) -> Self {
        Self { earlier, ..self }
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

    /// The audience of a turn inside the turn: its end is the same, what it says is its parent's to pass on, and nobody
    /// speaks to it.
    pub(super) fn for_inner(&self) -> Self {
        Self { abandoned: self.abandoned.clone(), ..Self::new(self.cancel.clone()) }
    }

    /// The turn ends, too, when the call that waits for it is gone.
    #[must_use]
    pub(super) fn with_abandoned(self, abandoned: Cancel) -> Self {
        Self { abandoned: Some(abandoned), ..self }
    }

    /// Returns when the turn is cancelled, by either.
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

/// Returns when that says so. A sender that is gone can no longer cancel.
async fn cancelled(mut cancel: Cancel) {
    if cancel.wait_for(|cancelled| *cancelled).await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl Turn {
    /// Hands an event to whoever listens, and waits while the listener is slow.
    ///
    /// # Errors
    ///
    /// The listener has left.
    pub async fn emit(&self, event: StreamEvent) -> Result<(), Error> {
        let Some(listener) = &self.options.listener else { return Ok(()) };
        let left = |_| Error::new(bub_types::ErrorKind::Cancelled, "whoever listened has left");
        listener.send(TurnEvent::Event(event)).await.map_err(left)
    }

    /// Tells whoever listens to the outermost turn that a model's server is asked again. A slow listener misses it.
    pub fn publish_retry(&self, why: &str, pause: Duration) {
        if let Some(listener) = &self.outermost().options.listener {
            let _ = listener.try_send(TurnEvent::Retry { why: why.to_owned(), pause });
        }
    }

    /// Tells whoever listens to the outermost turn of a tool.
    pub async fn publish_tool_event(&self, turn_event: TurnEvent) {
        let event = match &turn_event {
            TurnEvent::ToolBegins { name, .. } => Some(RuntimeEvent::ToolBegins { tool: name.clone() }),
            TurnEvent::ToolEnds { took, error, .. } => {
                Some(RuntimeEvent::ToolEnds { took: *took, error: error.clone() })
            }
            TurnEvent::Event(_) | TurnEvent::Retry { .. } => None,
        };
        if let Some(event) = event {
            self.scope.host.events.publish(event, &self.outermost().session_id);
        }
        if let Some(listener) = &self.outermost().options.listener {
            // Who has left wants to know nothing; the tool has its effect all the same.
            let _ = listener.send(turn_event).await;
        }
    }
}
