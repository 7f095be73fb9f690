//! One prompt: its turn, until it ends or is cancelled.

use super::calls::Calls;
use super::channel::PromptChannel;
use super::client::Client;
use super::message::internal;
use super::session::{RunningPrompt, Session};
use super::updates::Updates;
use agent_client_protocol_schema::v1::{Error, StopReason};
use bub_config::Commands;
use bub_runtime::error::Failure;
use bub_runtime::host::Host;
use bub_runtime::turn::{Identity, TurnEvent, TurnOptions, TurnResult, run_turn};
use bub_types::text::one_line;
use bub_types::{Envelope, MessageKind, Principal};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Buffered events of a turn.
const MAX_EVENTS: usize = 256;

/// What the agent loop says when a turn has taken all steps that it may.
const TOO_MANY_STEPS: &str = "max_steps reached";

/// Runs the turn of a prompt, when the session's earlier ones have ended.
///
/// # Errors
///
/// The turn failed.
pub(crate) async fn run(
    client: &Client,
    (session, host): (&Arc<Session>, &Arc<Host>),
    mut running: RunningPrompt,
    message: Envelope,
) -> Result<StopReason, Error> {
    let _turn = tokio::select! {
        biased;
        _ = running.cancel.wait_for(|cancelled| *cancelled) => return Ok(StopReason::Cancelled),
        turn = session.queue.lock() => turn,
    };
    let calls = Calls::new(host);
    let channel = Arc::new(PromptChannel::new(client, &session.id, &calls));
    let (listener, mut events) = mpsc::channel(MAX_EVENTS);
    let identity = Identity {
        principal: Principal::Owner,
        commands: Commands::All,
        session_prefix: String::new(),
        taint: session.workspace.taint.clone(),
    };
    let options = TurnOptions::new(running.cancel.clone())
        .with_session(session.id.clone())
        .with_identity(Some(identity))
        .with_channel(channel.clone())
        .with_approval(session.rules())
        .with_call_observer(calls.observer())
        .with_listener(listener);
    let mut updates = Updates::new(client, &session.id, host, &calls);
    let host = Arc::clone(host);
    let mut turn = tokio::spawn(async move { run_turn(&host, message, options).await });
    let outcome = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => gather(&mut updates, event, &mut events).await,
            outcome = &mut turn => break outcome,
        }
    };
    while let Ok(event) = events.try_recv() {
        updates.event(event).await;
    }
    updates.flush().await;
    let outcome = outcome.unwrap_or_else(|error| {
        tracing::error!("a turn panicked: {error}");
        Err(Failure::Channel("the turn panicked".to_owned()))
    });
    for message in channel.take() {
        // The error of a turn that failed is the answer to its request.
        if message.kind != MessageKind::Error || outcome.is_ok() {
            updates.message(&message.content).await;
        }
    }
    stop_reason(outcome)
}

/// Handles an event, and the text that has come with it.
async fn gather(updates: &mut Updates, first: TurnEvent, events: &mut mpsc::Receiver<TurnEvent>) {
    updates.event(first).await;
    while let Ok(event) = events.try_recv() {
        updates.event(event).await;
    }
    updates.flush().await;
}

fn stop_reason(outcome: Result<TurnResult, Failure>) -> Result<StopReason, Error> {
    match outcome {
        Ok(result) => Ok(match result.finish_reason.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content_filter" | "refusal") => StopReason::Refusal,
            _ => StopReason::EndTurn,
        }),
        Err(Failure::Cancelled) => Ok(StopReason::Cancelled),
        Err(failure) => {
            let error = failure.to_user_error();
            match error.message.starts_with(TOO_MANY_STEPS) {
                true => Ok(StopReason::MaxTurnRequests),
                false => Err(internal(one_line(&error.message))),
            }
        }
    }
}
