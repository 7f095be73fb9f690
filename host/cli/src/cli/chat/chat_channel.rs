//! The channel of a chat: passes messages and approval requests of a turn to the loop that owns the screen.

use super::super::denied::DeniedCalls;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest, Channel};
use bub_runtime::error::Failure;
use bub_types::Envelope;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::{mpsc, oneshot};

/// Buffered events. Beyond them, the turn waits.
const MAX_EVENTS: usize = 64;

/// An event of a turn for the terminal.
pub(in crate::cli) enum ChannelEvent {
    /// A message to show.
    Envelope(Box<Envelope>),
    /// A request to answer. The receiver may be gone, when the turn has ended.
    ApprovalRequest(Box<ApprovalRequest>, oneshot::Sender<ApprovalDecision>),
}

/// Sends the events of a turn to the terminal.
pub(in crate::cli) struct ChatChannel {
    channel_events: mpsc::Sender<ChannelEvent>,
    /// Whether a person can answer approval requests.
    is_interactive: bool,
    denied: DeniedCalls,
}

impl ChatChannel {
    /// A channel and the receiver of its events. Calls that could not be asked about are added to `denied`.
    pub(in crate::cli) fn new(is_interactive: bool, denied: DeniedCalls) -> (Self, mpsc::Receiver<ChannelEvent>) {
        let (channel_events, receiver) = mpsc::channel(MAX_EVENTS);
        (Self { channel_events, is_interactive, denied }, receiver)
    }
}

impl Channel for ChatChannel {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            let sent = self.channel_events.send(ChannelEvent::Envelope(Box::new(envelope.clone()))).await;
            sent.map_err(|_| Failure::Channel("the chat is over".to_owned()))
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        Box::pin(async move {
            if !self.is_interactive {
                return None;
            }
            let (answer, answered) = oneshot::channel();
            self.channel_events.send(ChannelEvent::ApprovalRequest(Box::new(question.clone()), answer)).await.ok()?;
            answered.await.ok()
        })
    }

    fn asks_as(&self) -> Option<&'static str> {
        self.is_interactive.then_some("chat")
    }

    fn not_asked(&self, question: &ApprovalRequest) {
        self.denied.add(question);
    }
}
