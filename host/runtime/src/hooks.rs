//! The hooks and their dispatch modes. This module alone decides what `none`, an error or a fault of a plugin means.

mod callable;
mod channel;
mod commands;
mod embed;
mod guest_call;
mod interceptors;
mod model;
mod options;
mod prompt;
mod replay;
mod select;
mod stages;
mod store;

use crate::error::Failure;
use crate::guest::{CallContext, CallFuture, GuestCall, call};
use crate::plugin::{FaultKind, Plugin};
use crate::turn::CallScope;
use bub_config::OnFault;
use bub_types::Error;
use bub_types::hook::Hook;
use std::sync::Arc;

pub use channel::described;
pub use channel::{Arrival, GuestChannel, Inbox, WebhookRequest, WebhookResponse, channels};
pub use commands::run_command;
pub use embed::{embed, embedder, embedding_name};
pub(crate) use guest_call::{answered, given, list};
pub use interceptors::{LlmVerdict, ToolVerdict, after_llm_call, after_tool_call, before_llm_call, before_tool_call};
pub use model::{continue_prompt, run_model, system_prompt};
pub use options::model_options;
pub use prompt::build_prompt;
pub use replay::{Replay, replay_call};
pub use select::{ActiveSelector, active_selector, select, selectors, shadow};
pub use stages::{Admission, resolve_session};
pub use stages::{
    admit_message, after_turn, before_reset, dispatch, host_owned, load_state, notify_observers, render_outbound,
    save_state,
};
pub use store::{is_store_gone, tape_store};

/// The outcome of a guest call: the plugin's answer, its error, or a fault.
type Answer<'a, T> = CallFuture<'a, Result<T, Error>>;

/// Calls one plugin.
async fn call_one<'c, T: Send>(
    scope: &CallScope,
    plugin: &Arc<Plugin>,
    context: CallContext,
    ask: impl for<'a> FnOnce(GuestCall<'a, 'c>) -> Answer<'a, T> + Send,
) -> Result<T, Failure> {
    let hook = context.call;
    let context = context.collected_by(scope.recorder.clone());
    let answer = call(&scope.host, plugin, context, ask).await?;
    answer.map_err(|error| Failure::Hook { hook, plugin: plugin.name.clone(), error })
}

/// First result: calls plugins from the latest registered on, until one answers.
async fn call_first<'c, T: Send>(
    scope: &CallScope,
    context: &CallContext,
    ask: impl for<'a> Fn(GuestCall<'a, 'c>) -> Answer<'a, Option<T>> + Send + Sync,
) -> Result<Option<T>, Failure> {
    for plugin in scope.callable(context) {
        match call_one(scope, plugin, context.clone(), &ask).await {
            Ok(None) => {}
            Ok(answer) => return Ok(answer),
            Err(failure) => skip_or_fail(scope, context, plugin, failure).await?,
        }
    }
    Ok(None)
}

/// Broadcast: calls every plugin, the latest registered first, and returns the answers in that order.
async fn call_all<'c, T: Send>(
    scope: &CallScope,
    context: &CallContext,
    ask: impl for<'a> Fn(GuestCall<'a, 'c>) -> Answer<'a, T> + Send + Sync,
) -> Result<Vec<T>, Failure> {
    let mut answers = Vec::new();
    for plugin in scope.callable(context) {
        match call_one(scope, plugin, context.clone(), &ask).await {
            Ok(answer) => answers.push(answer),
            Err(failure) => skip_or_fail(scope, context, plugin, failure).await?,
        }
    }
    Ok(answers)
}

/// A fault of a plugin that says `on_fault = "skip"` passes on, and the failure is reported. So does the fault of a plugin
/// that did not load: no call of it was ever answered. Everything else ends the stage.
async fn skip_or_fail(
    scope: &CallScope,
    context: &CallContext,
    plugin: &Plugin,
    failure: Failure,
) -> Result<(), Failure> {
    match (&failure, plugin.on_fault) {
        // Another call took the trial of a quarantined plugin: it is skipped.
        (failure, _) if failure.is_circuit_open() => Ok(()),
        (Failure::Fault(fault), on_fault)
            if on_fault == OnFault::Skip
                || on_fault != OnFault::Deny && matches!(fault.kind, FaultKind::NotLoaded(_)) =>
        {
            report_failure(scope, context, &failure).await;
            Ok(())
        }
        _ => Err(failure),
    }
}

/// Reports a failure that does not end the turn: in the log, on the tape and to the observers.
async fn report_failure(scope: &CallScope, context: &CallContext, failure: &Failure) {
    // A quarantine was reported when it started.
    if failure.is_circuit_open() {
        return;
    }
    tracing::warn!("{failure}; the turn goes on without it");
    if let Some(turn) = &context.turn {
        let name = if matches!(failure, Failure::Fault(_)) { "plugin.fault" } else { "plugin.error" };
        let data = serde_json::json!({ "hook": context.call, "message": failure.to_string() });
        if let Err(error) = turn.append_event(name, &data).await {
            tracing::warn!("the fault is not on the tape: {error}");
        }
    }
    let message = context.turn.as_ref().map(|turn| turn.envelope());
    // An observer of `on-error` is not notified of its own failure.
    if context.call != Hook::OnError {
        Box::pin(notify_observers(
            scope,
            context.turn.as_ref(),
            context.call.stage(),
            &failure.to_user_error(),
            message.as_ref(),
        ))
        .await;
    }
}
