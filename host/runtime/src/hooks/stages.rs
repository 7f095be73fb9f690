//! The hooks of the pipeline around the model.

use super::guest_call::guest_call;
use super::{call_all, call_first, call_one, report_failure};
use crate::error::Failure;
use crate::guest::CallContext;
use crate::guest::bindings::exported::admit_message::{Decision, SessionLoad};
use crate::plugin::recording::copied;
use crate::plugin::{AfterTurnScope, Plugin, check_json, contract, parse_json};
use crate::turn::{CallScope, Turn};
use bub_types::hook::Hook;
use bub_types::{Envelope, Error};
use serde_json::{Map, Value};
use std::sync::Arc;

copied!(SessionLoad);

/// The handling of a message that arrives while its session may be busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// As if nothing ran.
    Process,
    /// After the turn that runs.
    FollowUp,
    /// Before the next step of the turn that runs.
    Steer,
    /// Nothing.
    Drop,
}

/// The decision of the first plugin with one. A plugin that fails is reported and has none. `load`: whether a turn of
/// the session runs, and how many messages wait.
pub async fn admit_message(scope: &CallScope, message: &Envelope, load: (bool, usize)) -> Option<Admission> {
    let load = SessionLoad { running: load.0, pending: u32::try_from(load.1).unwrap_or(u32::MAX) };
    let session = message.session_id.as_deref().unwrap_or_default();
    let ask = guest_call!(admit_message.call_admit_message(session, message, load));
    let context = CallContext::about(Hook::AdmitMessage, session).caused_by(scope.caller_of(message));
    match call_first(scope, &context, ask).await {
        Ok(decision) => decision.map(|decision| match decision {
            Decision::Process => Admission::Process,
            Decision::FollowUp => Admission::FollowUp,
            Decision::Steer => Admission::Steer,
            Decision::Drop => Admission::Drop,
        }),
        Err(failure) => {
            tracing::warn!("{failure}; the message is taken all the same");
            notify_observers(scope, None, "admit_message", &failure.to_error(), Some(message)).await;
            None
        }
    }
}

/// The first session id that is not empty: an empty id is no id.
///
/// # Errors
///
/// The error of a plugin, or its fault: it ended the stage.
#[tracing::instrument(target = "otel", name = "resolve-session", skip_all)]
pub async fn resolve_session(scope: &CallScope, message: &Envelope) -> Result<Option<String>, Failure> {
    let ask = guest_call!(resolve_session.call_resolve_session(message), answer => {
        Ok(answer.map(|id| id.filter(|id| !id.is_empty())))
    });
    // It has no session yet: a fault counts for the chat.
    let chat = format!("{}:{}", message.channel, message.chat_id);
    let context = CallContext::about(Hook::ResolveSession, message.session_id.as_ref().unwrap_or(&chat));
    call_first(scope, &context.caused_by(scope.caller_of(message)), ask).await
}

/// Merges what the plugins load into the turn's state: of two values for a key the latest registered plugin's wins. The
/// host's own keys stay as they are.
#[tracing::instrument(target = "otel", name = "load-state", skip_all)]
pub async fn load_state(turn: &Arc<Turn>) -> Result<(), Failure> {
    let ask = guest_call!(turn; load_state.call_load_state(), answer => match answer {
        Ok(state) => {
            turn.charge_memory(state.as_ref().map_or(0, String::len))?;
            object(state).map(Ok)
        }
        Err(error) => Ok(Err(error)),
    });
    let loaded = call_all(&turn.scope, &CallContext::for_turn(Hook::LoadState, turn), ask).await?;
    for state in loaded.into_iter().rev() {
        for (key, value) in state {
            if !host_owned(&key) {
                turn.set(key, value);
            }
        }
    }
    Ok(())
}

fn object(state: Option<String>) -> wasmtime::Result<Map<String, Value>> {
    match state.map(|state| parse_json(&state)) {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(state))) => Ok(state),
        Some(Ok(_)) => Err(contract("the state it loaded is no JSON object")),
        Some(Err(reason)) => Err(contract(format!("the state it loaded is {reason}"))),
    }
}

/// Keys of the turn's state that guests read and the host writes.
pub fn host_owned(key: &str) -> bool {
    key.starts_with('_') || key == "session_id"
}

/// Asks every plugin, the failed turn's failure in hand.
#[tracing::instrument(target = "otel", name = "save-state", skip_all)]
pub async fn save_state(turn: &Arc<Turn>, output: &str, failure: Option<&Failure>) -> Result<(), Failure> {
    let failure = failure.map(Failure::to_error);
    let failure = failure.as_ref();
    let ask = guest_call!(turn; save_state.call_save_state(output, failure));
    call_all(&turn.scope, &CallContext::for_turn(Hook::SaveState, turn), ask).await.map(drop)
}

/// All batches joined, the latest registered plugin's first.
#[tracing::instrument(target = "otel", name = "render-outbound", skip_all)]
pub async fn render_outbound(turn: &Arc<Turn>, output: &str) -> Result<Vec<Envelope>, Failure> {
    let ask = guest_call!(turn; render_outbound.call_render_outbound(output), answer => {
        check_contexts(answer.as_deref().unwrap_or_default())?;
        Ok(answer)
    });
    let batches = call_all(&turn.scope, &CallContext::for_turn(Hook::RenderOutbound, turn), ask).await?;
    Ok(batches.into_iter().flatten().collect())
}

fn check_contexts(envelopes: &[Envelope]) -> wasmtime::Result<()> {
    for (key, value) in envelopes.iter().flat_map(|envelope| &envelope.context) {
        check_json(value).map_err(|reason| contract(format!("the context `{key}` of its envelope is {reason}")))?;
    }
    Ok(())
}

/// Offers an outbound envelope to every plugin; the host hands it to its channel when none says that it did.
#[tracing::instrument(target = "otel", name = "dispatch-outbound", skip_all)]
pub async fn dispatch(scope: &CallScope, message: &Envelope) -> Result<(), Failure> {
    let ask = guest_call!(dispatch_outbound.call_dispatch_outbound(message));
    let context = CallContext::about(Hook::DispatchOutbound, message.session_id.as_deref().unwrap_or_default());
    let delivered = call_all(scope, &context, ask).await?;
    if delivered.contains(&true) {
        return Ok(());
    }
    // Plugins have marks in place of media; a channel takes them out of the house.
    let mut filled = message.clone();
    for item in &mut filled.media {
        item.url = scope.media.restore_url(&item.url)?;
    }
    scope.channel().send(&filled).await
}

/// Tells the observers of `on-error`, and dispatches what they answer. Failures in here are logged
/// and not returned.
pub async fn notify_observers(
    scope: &CallScope,
    turn: Option<&Arc<Turn>>,
    stage: &'static str,
    error: &Error,
    message: Option<&Envelope>,
) {
    let context = match (turn, message.and_then(|message| message.session_id.as_deref())) {
        (Some(turn), _) => CallContext::for_turn(Hook::OnError, turn),
        (None, session) => CallContext::about(Hook::OnError, session.unwrap_or_default()),
    };
    let context = match message {
        Some(message) => context.caused_by(scope.caller_of(message)),
        None => context,
    };
    for plugin in scope.callable(&context) {
        let ask = guest_call!(on_error.call_on_error(stage, error, message), envelopes => {
            check_contexts(&envelopes)?;
            Ok(Ok(envelopes))
        });
        let envelopes = match call_one(scope, plugin, context.clone(), ask).await {
            Ok(envelopes) => envelopes,
            Err(failure) => {
                report_failure(scope, &context, &failure).await;
                continue;
            }
        };
        // A channel that is broken would otherwise be told of it through itself, for ever.
        if stage == "dispatch_outbound" {
            continue;
        }
        for envelope in &envelopes {
            if let Err(failure) = dispatch(scope, envelope).await {
                tracing::warn!("what `on-error` said was not delivered: {failure}");
            }
        }
    }
}

/// Tells the observers that the answer is delivered.
pub async fn after_turn(turn: &Arc<Turn>, output: &str) {
    let context = CallContext::for_turn(Hook::AfterTurn, turn);
    let wants = |plugin: &&Arc<Plugin>| match plugin.manifest.after_turn {
        AfterTurnScope::Every => true,
        AfterTurnScope::Selected => turn.has_selected(&plugin.name),
    };
    for plugin in turn.scope.callable(&context).filter(wants) {
        let ask = guest_call!(turn; after_turn.call_after_turn(output), answer => Ok(Ok(answer)));
        if let Err(failure) = call_one(&turn.scope, plugin, context.clone(), ask).await {
            report_failure(&turn.scope, &context, &failure).await;
        }
    }
}

/// The data that the plugins want kept beside the archive of a tape that is about to be emptied, each with the name of
/// its plugin in front. A plugin that fails is left out: what it would have kept is in the archive all the same.
pub async fn before_reset(turn: &Arc<Turn>, depth: u32, archive: bool) -> Vec<(String, String)> {
    let context = CallContext::inside(Hook::BeforeReset, turn, depth);
    let mut kept = Vec::new();
    for plugin in turn.scope.callable(&context) {
        let ask = guest_call!(turn; before_reset.call_before_reset(archive), answer => {
            for attachment in answer.as_deref().unwrap_or_default() {
                turn.charge_memory(attachment.text.len())?;
                if !is_plain(&attachment.name) {
                    let shown = bub_types::text::escaped(&attachment.name, 64);
                    return Err(contract(format!("`{shown}` cannot name an attachment: letters, digits, `.`, `_`, `-`")));
                }
            }
            Ok(answer)
        });
        match call_one(&turn.scope, plugin, context.clone(), ask).await {
            Ok(attachments) => kept.extend(
                attachments
                    .into_iter()
                    .map(|attachment| (format!("{}.{}", plugin.name, attachment.name), attachment.text)),
            ),
            Err(failure) => report_failure(&turn.scope, &context, &failure).await,
        }
    }
    if kept.len() > MAX_ATTACHMENTS {
        tracing::warn!("of {} attachments beside an archive {MAX_ATTACHMENTS} are kept", kept.len());
        kept.truncate(MAX_ATTACHMENTS);
    }
    kept
}

/// Attachments of one archive.
const MAX_ATTACHMENTS: usize = 16;

fn is_plain(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.') && !name.contains("..")
}
