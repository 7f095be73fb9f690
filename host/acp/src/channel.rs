//! The channels of a prompt's turn: its messages, and questions to the user.

use super::calls::{self, Calls};
use super::client::Client;
use super::wording;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use bub_runtime::approval_board::random_name;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest, Channel};
use bub_runtime::error::Failure;
use bub_types::Envelope;
use bub_types::text::one_line;
use parking_lot::Mutex as Locked;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

/// The answers that the user chooses from.
const OPTIONS: [(ApprovalDecision, &str, PermissionOptionKind); 5] = [
    (ApprovalDecision::Once, "Allow once", PermissionOptionKind::AllowOnce),
    (ApprovalDecision::Always, "Allow this call for the session", PermissionOptionKind::AllowAlways),
    (ApprovalDecision::Rule, "Always allow by rule", PermissionOptionKind::AllowAlways),
    (ApprovalDecision::No, "Deny", PermissionOptionKind::RejectOnce),
    (ApprovalDecision::Never, "Deny this tool for the session", PermissionOptionKind::RejectAlways),
];

/// Keeps the messages of a turn, and asks the user.
pub(crate) struct PromptChannel {
    client: Client,
    session: String,
    calls: Arc<Calls>,
    messages: Locked<Vec<Envelope>>,
}

impl PromptChannel {
    pub(crate) fn new(client: &Client, session: &str, calls: &Arc<Calls>) -> Self {
        let (client, session, calls) = (client.clone(), session.to_owned(), Arc::clone(calls));
        Self { client, session, calls, messages: Locked::default() }
    }

    /// The messages so far.
    pub(crate) fn take(&self) -> Vec<Envelope> {
        std::mem::take(&mut self.messages.lock())
    }

    async fn permission(&self, question: &ApprovalRequest) -> Option<ApprovalDecision> {
        let known = self.calls.asked_about(question).await;
        let id = match known {
            Some(call) => calls::id(call),
            None => format!("question-{}", random_name().ok()?),
        };
        let call = self.calls.question(id.clone(), question);
        let is_offered = |(decision, ..): &&(ApprovalDecision, _, _)| {
            *decision != ApprovalDecision::Rule || !question.rules.is_empty()
        };
        let options = OPTIONS.iter().filter(is_offered).map(|(decision, name, kind)| {
            let name = match decision {
                ApprovalDecision::Rule => format!("{name}: {}", rules(question)),
                _ => (*name).to_owned(),
            };
            PermissionOption::new(decision.name(), name, *kind)
        });
        let request =
            RequestPermissionRequest::new(self.session.clone(), ToolCallUpdate::from(call), options.collect());
        let answer: RequestPermissionResponse = self.client.request("session/request_permission", &request).await?;
        let decision = decision(&answer.outcome);
        if matches!(decision, ApprovalDecision::Once | ApprovalDecision::Always | ApprovalDecision::Rule) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            self.client.update(&self.session, SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))).await;
        }
        Some(decision)
    }
}

/// The rules that are offered, on one line.
fn rules(question: &ApprovalRequest) -> String {
    let rules: Vec<String> = question.rules.iter().map(|rule| one_line(&rule.to_string())).collect();
    rules.join("; ")
}

/// Anything but a clear yes is a no.
fn decision(outcome: &RequestPermissionOutcome) -> ApprovalDecision {
    match outcome {
        RequestPermissionOutcome::Selected(selected) => {
            ApprovalDecision::parse(&selected.option_id.0).unwrap_or(ApprovalDecision::No)
        }
        _ => ApprovalDecision::No,
    }
}

impl Channel for PromptChannel {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        self.messages.lock().push(envelope.clone());
        Box::pin(ready(Ok(())))
    }

    fn ask<'a>(
        &'a self,
        question: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        Box::pin(self.permission(question))
    }

    fn asks_as(&self) -> Option<&'static str> {
        Some("acp")
    }
}

/// Logs what plugins say outside of a prompt, and which calls were not made.
pub(crate) struct OutOfPrompt;

impl Channel for OutOfPrompt {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let (channel, content) = (&envelope.channel, one_line(&envelope.content));
        tracing::info!("message on channel `{channel}` outside of a turn: {content}");
        Box::pin(ready(Ok(())))
    }

    fn not_asked(&self, question: &ApprovalRequest) {
        tracing::warn!("denied: {}: {}", wording::quoted(&question.tool), one_line(&question.why));
    }
}
