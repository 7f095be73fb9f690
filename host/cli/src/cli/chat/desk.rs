//! The channel of a chat: what a turn hands to it waits for the loop that owns the screen.

use super::super::denied::DeniedCalls;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest, Channel};
use bub_runtime::error::Failure;
use bub_types::Envelope;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::{mpsc, oneshot};

/// What waits at most, before whoever has more has to wait.
const WAITING: usize = 64;

/// Something that a turn wants of the person.
pub(in crate::cli) enum Matter {
    /// To be shown.
    Envelope(Box<Envelope>),
    /// To be answered. Whoever asked may have left: then nobody takes the answer.
    Question(Box<ApprovalRequest>, oneshot::Sender<ApprovalDecision>),
}

/// Hands envelopes and questions over.
pub(in crate::cli) struct Desk {
    matters: mpsc::Sender<Matter>,
    /// Whether somebody is there to answer.
    asks: bool,
    denied: DeniedCalls,
}

impl Desk {
    /// A desk, and the end at which its matters come out. `asks`: somebody sits there who answers questions. Calls that
    /// nobody is asked about are put down in `denied`.
    pub(in crate::cli) fn new(asks: bool, denied: DeniedCalls) -> (Self, mpsc::Receiver<Matter>) {
        let (matters, taken) = mpsc::channel(WAITING);
        (Self { matters, asks, denied }, taken)
    }
}

impl Channel for Desk {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            let sent = self.matters.send(Matter::Envelope(Box::new(envelope.clone()))).await;
            sent.map_err(|_| Failure::Channel("the chat is over".to_owned()))
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        Box::pin(async move {
            if !self.asks {
                return None;
            }
            let (answer, answered) = oneshot::channel();
            self.matters.send(Matter::Question(Box::new(question.clone()), answer)).await.ok()?;
            answered.await.ok()
        })
    }

    fn not_asked(&self, question: &ApprovalRequest) {
        self.denied.add(question);
    }
}
