//! The hooks around a model call and around a tool call. A plugin that fails here is skipped and its failure reported; a gate denies.

use super::guest_call::guest_call;
use super::{call_one, report_failure};
use crate::error::Failure;
use crate::guest::CallContext;
use crate::guest::bindings::exported::after_llm_call::LlmResult;
use crate::guest::bindings::exported::before_llm_call::{LlmDecision, LlmRequest};
use crate::guest::bindings::exported::before_tool_call::ToolDecision;
use crate::plugin::{Plugin, check_json, contract, json_object};
use crate::turn::{Turn, by_plugin};
use bub_config::OnFault;
use bub_types::hook::Hook;
use bub_types::{Error, ToolCall};
use std::sync::Arc;

/// The verdict of the chain before a model call.
pub enum LlmVerdict {
    /// Ask the model.
    Proceed,
    /// Ask it this.
    Rewritten(LlmRequest),
    /// Do not: this is what it would have said.
    Answered(String),
}

/// Asks the chain. `shown` creates the request, only if a plugin is called; `rewrote` is told of each plugin that made
/// another one of it.
///
/// # Errors
///
/// A gate did not decide.
pub async fn before_llm_call(
    turn: &Arc<Turn>,
    depth: u32,
    shown: impl Fn() -> LlmRequest,
    mut rewrote: impl FnMut(&Plugin, &LlmRequest),
) -> Result<LlmVerdict, Error> {
    let context = CallContext::inside(Hook::BeforeLlmCall, turn, depth);
    let mut written: Option<LlmRequest> = None;
    for plugin in callable(turn, &context) {
        let request = written.clone().unwrap_or_else(&shown);
        let request = &request;
        let ask = guest_call!(turn; before_llm_call.call_before_llm_call(request), decision => {
            if let Ok(LlmDecision::Rewrite(request)) = &decision {
                let mut texts = request.messages.iter().chain(&request.options);
                let wrong = |reason| contract(format!("the request that it wrote holds {reason}"));
                texts.try_for_each(|text| json_object(text).map(drop).map_err(wrong))?;
            }
            Ok(decision)
        });
        match call_one(&turn.scope, plugin, context.clone(), ask).await {
            Ok(LlmDecision::Proceed) => {}
            Ok(LlmDecision::Rewrite(mut rewritten)) => {
                // Tools can be taken out, not put in: what the caller may not use, no plugin can push_turn_handle it.
                rewritten.tool_names.retain(|name| request.tool_names.contains(name));
                rewrote(plugin, &rewritten);
                written = Some(rewritten);
            }
            Ok(LlmDecision::Answer(text)) => return Ok(LlmVerdict::Answered(text)),
            Err(failure) => {
                report_failure(&turn.scope, &context, &failure).await;
                if plugin.on_fault == OnFault::Deny {
                    return Err(undecided(plugin, &failure));
                }
            }
        }
    }
    Ok(written.map_or(LlmVerdict::Proceed, LlmVerdict::Rewritten))
}

/// A gate that is in quarantine is among them: it is not asked, and denies.
fn callable<'a>(turn: &'a Turn, context: &'a CallContext) -> impl Iterator<Item = &'a Arc<Plugin>> {
    let hook = context.call.hook().into_iter();
    let granted = hook.flat_map(|hook| {
        turn.passes_over_ungranted(hook);
        turn.scope.granted(hook)
    });
    granted.filter(|plugin| plugin.on_fault == OnFault::Deny || turn.scope.open_circuit(plugin, context).is_none())
}

fn undecided(gate: &Plugin, failure: &Failure) -> Error {
    Error::denied(format!("the gate `{}` did not decide: {failure}", gate.name))
}

fn check<'a>(what: &str, texts: impl IntoIterator<Item = &'a String>) -> wasmtime::Result<()> {
    texts.into_iter().try_for_each(|text| check_json(text).map_err(|reason| contract(format!("{what} holds {reason}"))))
}

/// Tells every observer of a model call that ended.
pub async fn after_llm_call(turn: &Arc<Turn>, depth: u32, model: &str, outcome: &LlmResult) {
    let context = CallContext::inside(Hook::AfterLlmCall, turn, depth);
    for plugin in turn.scope.callable(&context) {
        let ask = guest_call!(turn; after_llm_call.call_after_llm_call(model, outcome), answer => Ok(Ok(answer)));
        if let Err(failure) = call_one(&turn.scope, plugin, context.clone(), ask).await {
            report_failure(&turn.scope, &context, &failure).await;
        }
    }
}

/// The verdict of the chain before a tool call.
pub enum ToolVerdict {
    /// Call it, with these arguments. These plugins, each with its reason, want the owner to be asked first.
    Call(ToolCall, Vec<(String, String)>),
    /// Do not: this is its result.
    Answered(Result<String, Error>),
    /// Do not: that plugin refuses it.
    Refused(String, Error),
}

/// Asks the chain, gates last: they see the arguments that the tool will get, and their fault denies.
pub async fn before_tool_call(turn: &Arc<Turn>, depth: u32, mut call: ToolCall) -> ToolVerdict {
    let context = CallContext::inside(Hook::BeforeToolCall, turn, depth);
    let mut guest_closure = Vec::new();
    let denied = |plugin: &Plugin, reason| ToolVerdict::Refused(plugin.name.clone(), Error::denied(reason));
    let (gates, chain): (Vec<_>, Vec<_>) =
        callable(turn, &context).partition(|plugin| plugin.on_fault == OnFault::Deny);
    for plugin in chain.into_iter().chain(gates) {
        match decide(turn, &context, plugin, &call).await {
            Ok(ToolDecision::Proceed) => {}
            // A gate judges what the tool will get; what it wrote itself no other gate would have seen.
            Ok(ToolDecision::Rewrite(_)) if plugin.on_fault == OnFault::Deny => {
                let reason = format!("the gate `{}` wants other arguments, which a gate cannot write", plugin.name);
                return denied(plugin, reason);
            }
            Ok(ToolDecision::Rewrite(arguments)) => {
                turn.trail_arguments(&call, plugin, &arguments);
                call.arguments = arguments;
            }
            Ok(ToolDecision::Answer(result)) => {
                turn.trail_result(&call, || by_plugin(plugin, context.call.name()), &result);
                return ToolVerdict::Answered(Ok(result));
            }
            Ok(ToolDecision::Deny(reason)) => return denied(plugin, reason),
            // Once the chain is over: the owner is shown what will be run.
            Ok(ToolDecision::Ask(reason)) => guest_closure.push((plugin.name.clone(), reason)),
            Err(failure) => {
                report_failure(&turn.scope, &context, &failure).await;
                if plugin.on_fault == OnFault::Deny {
                    return ToolVerdict::Refused(plugin.name.clone(), undecided(plugin, &failure));
                }
            }
        }
    }
    ToolVerdict::Call(call, guest_closure)
}

async fn decide(
    turn: &Arc<Turn>,
    context: &CallContext,
    plugin: &Arc<Plugin>,
    call: &ToolCall,
) -> Result<ToolDecision, Failure> {
    let ask = guest_call!(turn; before_tool_call.call_before_tool_call(call), decision => {
        if let Ok(ToolDecision::Rewrite(json) | ToolDecision::Answer(json)) = &decision {
            check("its decision", [json])?;
        }
        Ok(decision)
    });
    call_one(&turn.scope, plugin, context.clone(), ask).await
}

/// Shows a result to the chain, exactly once; a plugin may put another in place of a successful one.
pub async fn after_tool_call(
    turn: &Arc<Turn>,
    depth: u32,
    call: &ToolCall,
    mut outcome: Result<String, Error>,
) -> Result<String, Error> {
    let context = CallContext::inside(Hook::AfterToolCall, turn, depth);
    for plugin in turn.scope.callable(&context) {
        let shown = &outcome;
        let ask = guest_call!(turn; after_tool_call.call_after_tool_call(call, shown.as_ref()), answer => {
            check("its result", answer.iter().flatten())?;
            Ok(answer)
        });
        match call_one(&turn.scope, plugin, context.clone(), ask).await {
            Ok(Some(result)) if outcome.is_ok() => {
                turn.trail_result(call, || by_plugin(plugin, context.call.name()), &result);
                outcome = Ok(result);
            }
            Ok(_) => {}
            Err(failure) => report_failure(&turn.scope, &context, &failure).await,
        }
    }
    outcome
}
