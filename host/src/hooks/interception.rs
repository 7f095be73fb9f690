//! The hooks around a model call and around a tool call. A plugin that fails here is skipped, aloud; a gate is not.

use super::{aloud, lend, one};
use crate::error::Failure;
use crate::plugin::bindings::exported::after_llm_call::LlmResult;
use crate::plugin::bindings::exported::before_llm_call::{LlmDecision, LlmRequest};
use crate::plugin::bindings::exported::before_tool_call::ToolDecision;
use crate::plugin::bindings::{Error, ToolCall};
use crate::plugin::{OnFault, Plugin, Site, Visit, check_json, contract};
use crate::turn::Turn;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The request as the chain leaves it, or the answer that stands in for the model's.
pub(crate) async fn before_llm_call(
    turn: &Arc<Turn>,
    depth: u32,
    mut request: LlmRequest,
) -> ControlFlow<String, LlmRequest> {
    let site = Site::inside("before-llm-call", turn, depth);
    for plugin in turn.calls.plugins.exporting(site.hook) {
        let asked = &request;
        let decided = one(
            &turn.calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let guest = plugin.exports.before_llm_call(store, &instance)?;
                    let handle = lend(store, turn)?;
                    let decision = guest.call_before_llm_call(store, handle, asked).await?;
                    if let Ok(LlmDecision::Rewrite(rewritten)) = &decision {
                        for json in rewritten.messages.iter().chain(&rewritten.options) {
                            check_json(json)
                                .map_err(|reason| contract(format!("the request that it wrote holds {reason}")))?;
                        }
                    }
                    Ok(decision)
                })
            },
        );
        match decided.await {
            Ok(LlmDecision::Proceed) => {}
            Ok(LlmDecision::Rewrite(rewritten)) => {
                // Tools can be taken out, not put in: what the caller may not use, no plugin can lend it.
                let tool_names = rewritten
                    .tool_names
                    .iter()
                    .filter(|name| request.tool_names.contains(name))
                    .cloned()
                    .collect();
                request = LlmRequest {
                    tool_names,
                    ..rewritten
                };
            }
            Ok(LlmDecision::Answer(text)) => return ControlFlow::Break(text),
            Err(failure) => aloud(&turn.calls, &site, &failure).await,
        }
    }
    ControlFlow::Continue(request)
}

/// Tells every observer of a model call that ended.
pub(crate) async fn after_llm_call(turn: &Arc<Turn>, depth: u32, model: &str, outcome: &LlmResult) {
    let site = Site::inside("after-llm-call", turn, depth);
    for plugin in turn.calls.plugins.exporting(site.hook) {
        let told = one(
            &turn.calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let guest = plugin.exports.after_llm_call(store, &instance)?;
                    let handle = lend(store, turn)?;
                    guest.call_after_llm_call(store, handle, model, outcome).await.map(Ok)
                })
            },
        );
        if let Err(failure) = told.await {
            aloud(&turn.calls, &site, &failure).await;
        }
    }
}

/// What the chain before a tool call came to.
pub(crate) enum ToolVerdict {
    /// Call it, with these arguments.
    Call(ToolCall),
    /// Do not: this is its result.
    Answered(Result<String, Error>),
}

/// Asks the chain, gates last: they see the arguments that the tool will get, and their fault denies.
pub(crate) async fn before_tool_call(turn: &Arc<Turn>, depth: u32, mut call: ToolCall) -> ToolVerdict {
    let site = Site::inside("before-tool-call", turn, depth);
    let (gates, chain): (Vec<_>, Vec<_>) = turn
        .calls
        .plugins
        .exporting(site.hook)
        .partition(|plugin| plugin.on_fault == OnFault::Deny);
    for plugin in chain.into_iter().chain(gates) {
        match decide(turn, &site, plugin, &call).await {
            Ok(ToolDecision::Proceed) => {}
            Ok(ToolDecision::Rewrite(arguments)) => call.arguments = arguments,
            Ok(ToolDecision::Answer(result)) => return ToolVerdict::Answered(Ok(result)),
            Ok(ToolDecision::Deny(reason)) => return ToolVerdict::Answered(Err(Error::denied(reason))),
            // Nobody can be asked yet, and what nobody allows is denied.
            Ok(ToolDecision::Ask(reason)) => {
                return ToolVerdict::Answered(Err(Error::denied(format!("nobody could be asked: {reason}"))));
            }
            Err(failure) => {
                aloud(&turn.calls, &site, &failure).await;
                if plugin.on_fault == OnFault::Deny {
                    return ToolVerdict::Answered(Err(Error::denied(format!(
                        "the gate `{}` did not decide: {failure}",
                        plugin.name
                    ))));
                }
            }
        }
    }
    ToolVerdict::Call(call)
}

async fn decide(turn: &Arc<Turn>, site: &Site, plugin: &Arc<Plugin>, call: &ToolCall) -> Result<ToolDecision, Failure> {
    one(
        &turn.calls,
        plugin,
        site.clone(),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.before_tool_call(store, &instance)?;
                let handle = lend(store, turn)?;
                let decision = guest.call_before_tool_call(store, handle, call).await?;
                if let Ok(ToolDecision::Rewrite(json) | ToolDecision::Answer(json)) = &decision {
                    check_json(json).map_err(|reason| contract(format!("its decision holds {reason}")))?;
                }
                Ok(decision)
            })
        },
    )
    .await
}

/// Shows a result to the chain, exactly once; a plugin may put another in place of a successful one.
pub(crate) async fn after_tool_call(
    turn: &Arc<Turn>,
    depth: u32,
    call: &ToolCall,
    mut outcome: Result<String, Error>,
) -> Result<String, Error> {
    let site = Site::inside("after-tool-call", turn, depth);
    for plugin in turn.calls.plugins.exporting(site.hook) {
        let shown = &outcome;
        let seen = one(
            &turn.calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let guest = plugin.exports.after_tool_call(store, &instance)?;
                    let handle = lend(store, turn)?;
                    let answer = guest.call_after_tool_call(store, handle, call, shown.as_ref()).await?;
                    if let Ok(Some(json)) = &answer {
                        check_json(json).map_err(|reason| contract(format!("its result is {reason}")))?;
                    }
                    Ok(answer)
                })
            },
        );
        match seen.await {
            Ok(Some(result)) if outcome.is_ok() => outcome = Ok(result),
            Ok(_) => {}
            Err(failure) => aloud(&turn.calls, &site, &failure).await,
        }
    }
    outcome
}
