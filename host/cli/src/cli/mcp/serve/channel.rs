//! The channels of `mcp serve`: of a turn, and of what plugins say outside of one.

use super::super::super::question::act;
use bub_mcp::Elicitor;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest, Channel};
use bub_runtime::error::Failure;
use bub_types::text::{clipped, one_line};
use bub_types::{Envelope, MessageKind};
use parking_lot::Mutex;
use std::future::{Future, ready};
use std::pin::Pin;

/// The longest arguments in a question, in characters.
const MAX_ARGUMENTS: usize = 4000;

/// Collects the answers of a turn, and asks the client's user.
pub(super) struct TurnChannel {
    answers: Mutex<Vec<Envelope>>,
    elicitor: Option<Elicitor>,
}

impl TurnChannel {
    pub(super) fn new(elicitor: Option<Elicitor>) -> Self {
        Self { answers: Mutex::default(), elicitor }
    }

    /// The texts that the turn delivered; none: it delivered none.
    pub(super) fn answer(&self) -> Option<String> {
        let answers = self.answers.lock();
        let texts = answers.iter().filter(|envelope| envelope.kind != MessageKind::Error);
        let texts: Vec<&str> =
            texts.map(|envelope| envelope.content.as_str()).filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

impl Channel for TurnChannel {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        self.answers.lock().push(envelope.clone());
        Box::pin(ready(Ok(())))
    }

    fn ask<'a>(
        &'a self,
        question: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        Box::pin(async move { self.elicitor.as_ref()?.ask(worded(question), !question.rules.is_empty()).await })
    }

    fn asks_as(&self) -> Option<&'static str> {
        Some("mcp")
    }

    fn not_asked(&self, question: &ApprovalRequest) {
        denied(question);
    }
}

/// The question, on lines that no argument can shape.
fn worded(question: &ApprovalRequest) -> String {
    let arguments = clipped(&bub_types::text::line(&question.arguments), MAX_ARGUMENTS);
    let rules = question.rules.iter().map(|rule| format!("\nRule: {}", one_line(&rule.to_string())));
    let (act, why) = (one_line(&act(question, true)), one_line(&question.why));
    format!("{act}?\nArguments: {arguments}\nAsked because {why}.{}", rules.collect::<String>())
}

fn denied(question: &ApprovalRequest) {
    tracing::warn!("denied: {}: {}", one_line(&act(question, true)), one_line(&question.why));
}

/// Logs what plugins say outside of a turn.
pub(super) struct OutOfTurn;

impl Channel for OutOfTurn {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let (channel, content) = (&envelope.channel, one_line(&envelope.content));
        tracing::info!("message on channel `{channel}` outside of a turn: {content}");
        Box::pin(ready(Ok(())))
    }

    fn not_asked(&self, question: &ApprovalRequest) {
        denied(question);
    }
}
