//! One tool call, from its caller to the guest and back.

use super::policy::{Allowed, allowed};
use crate::error::Failure;
use crate::guest::handles::TurnHandle;
use crate::guest::{CallContext, GuestCall, Running, call};
use crate::hooks::{self, ToolVerdict, answered, given};
use crate::imports::{spans, spill};
use crate::plugin::{Plugin, Tool, check_json, contract, model_name, parse_json};
use crate::turn::{Decision, DenialReason, Turn, TurnEvent, by_plugin};
use bub_permissions::Grant;
use bub_types::Effect;
use bub_types::hook::{Call, Hook};
use bub_types::{Error, ErrorKind, MessageKind, ToolCall};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tracing::Instrument;

/// Tool calls of this process so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Runs one call, and notifies the listener.
pub(super) async fn run(turn: &Arc<Turn>, depth: u32, call: ToolCall) -> Result<String, Error> {
    let call = ToolCall { name: turn.dotted(&call.name), ..call };
    let (number, began) = (CALLS.fetch_add(1, Ordering::Relaxed), Instant::now());
    let (name, arguments) = (call.name.clone(), call.arguments.clone());
    turn.publish_tool_event(TurnEvent::ToolBegins { call: number, name, arguments, nested: turn.nesting() }).await;
    let span = spans::tool(turn, &call);
    let (named, id) = (call.name.clone(), call.id.clone());
    let outcome = intercepted(turn, depth, call).instrument(span.clone()).await;
    spans::tool_ends(&span, turn, &outcome);
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let error = outcome.as_ref().err().map(|error| error.kind.name());
    turn.receipt("tool", serde_json::json!({ "tool": named, "call": id, "ms": ms, "error": error }));
    turn.write_receipts().await;
    let told = outcome.clone().map_err(|error| error.message);
    turn.publish_tool_event(TurnEvent::ToolEnds { call: number, took: began.elapsed(), outcome: told }).await;
    outcome
}

/// One call from the chain before it to the chain after it. Every outcome is a result that the model can read.
async fn intercepted(turn: &Arc<Turn>, depth: u32, call: ToolCall) -> Result<String, Error> {
    if let Some(gate) = turn.scope.absent_gate() {
        let error = Error::denied(format!("the gate `{gate}` is not there to allow it"));
        turn.denied_call(DenialReason::Gate, gate, &call.name, &error);
        refused(turn, &call, ("gate", gate), &error);
        return Err(error);
    }
    let asked = call.clone();
    turn.trail_call(&call);
    let (call, outcome) = match hooks::before_tool_call(turn, depth, call).await {
        ToolVerdict::Call(call, guest_closure) => {
            let outcome = decided(turn, depth, &call, guest_closure).await;
            if let Ok(result) = &outcome {
                turn.trail_result(&call, || by_tool(turn, &call), result);
            }
            (call, outcome)
        }
        ToolVerdict::Answered(outcome) => (asked, outcome),
        ToolVerdict::Refused(plugin, error) => {
            if error.kind == ErrorKind::Denied {
                turn.denied_call(DenialReason::Gate, "", &asked.name, &error);
            }
            refused(turn, &asked, ("plugin", &plugin), &error);
            (asked, Err(error))
        }
    };
    let result = hooks::after_tool_call(turn, depth, &call, outcome).await?;
    // The answer of a command is no part of the conversation.
    let tool = turn.tool(&call.name).filter(|_| !turn.is_typed(depth));
    if let Some((plugin, tool)) = tool {
        turn.record_result(plugin, tool, &call.arguments, &result);
    }
    let shown = spill::replace_new_messages(turn, &call.name, result).await;
    turn.trail_result(&call, bub_blame::Source::host, &shown);
    if let Some((plugin, tool)) = tool {
        turn.record_shown_result(plugin, tool, &shown);
    }
    Ok(shown)
}

/// A plugin, or the absence of one, keeps a call from being made.
fn refused(turn: &Turn, call: &ToolCall, (cause, plugin): (&'static str, &str), error: &Error) {
    let plugins = vec![(plugin.to_owned(), error.message.clone())];
    let mode = turn.approval_mode().to_string();
    let decision = Decision { verdict: "deny", cause, mode, plugins, ..Decision::default() };
    let owner = turn.tool(&call.name).map_or("", |(plugin, _)| plugin.name.as_str());
    turn.decided((owner, call), &decision, turn.taint_facts(), Some(&error.message));
}

/// The source of what a tool answers.
fn by_tool(turn: &Turn, call: &ToolCall) -> bub_blame::Source {
    let source = turn.tool(&call.name).map(|(plugin, _)| by_plugin(plugin, Hook::Tools.name()));
    source.unwrap_or_default().named(&call.name)
}

/// The call, if it may be made.
async fn decided(
    turn: &Arc<Turn>,
    depth: u32,
    call: &ToolCall,
    guest_closure: Vec<(String, String)>,
) -> Result<String, Error> {
    let Some((plugin, tool)) = turn.tool(&call.name) else {
        return Err(unknown(turn, &call.name));
    };
    let (arguments, parsed) = arguments(turn, tool, call).inspect_err(|error| {
        if error.kind == ErrorKind::Denied {
            turn.denied_call(DenialReason::Policy, &plugin.name, &tool.name, error);
        }
    })?;
    let how = allowed(turn, depth, (plugin, tool), (call, &parsed), guest_closure).await?;
    // Held as long as the call runs.
    let _permit = (how == Allowed::Outside)
        .then(|| turn.permit_outside(CALLS.fetch_add(1, Ordering::Relaxed), &plugin.digest, &parsed));
    // A turn that it begins has tools with effects of their own.
    let may_act = tool.effect != Effect::Read || turn.scope.host.grants.allows(plugin, &Grant::AGENT);
    if may_act {
        turn.tool_begins(call).await?;
    }
    turn.keep_workspace(plugin, tool).await;
    let outcome = ask(turn, depth, plugin, &tool.name, &arguments).await;
    if may_act && turn.is_typed(depth) {
        turn.typed_tool_ends(call);
    }
    if let Err(error) = &outcome {
        turn.tool_failed(&plugin.name, &tool.name, error);
    }
    if tool.effect != Effect::Read {
        turn.changed();
    }
    outcome
}

/// The arguments, as text and as the object that they are, if the tool takes them.
fn arguments(turn: &Turn, tool: &Tool, call: &ToolCall) -> Result<(String, Value), Error> {
    let name = model_name(&tool.name);
    if !tool.for_model && turn.kind() != MessageKind::Command {
        return Err(Error::denied(format!("the tool `{name}` is for people, not for models")));
    }
    // A model that means "no arguments" often writes nothing at all.
    let arguments = if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments.clone() };
    let fits = match parse_json(&arguments) {
        Ok(value @ Value::Object(_)) => tool.check(&value).map(|()| value),
        Ok(_) => Err("are no JSON object".to_owned()),
        Err(reason) => Err(format!("are {reason}")),
    };
    let parsed = fits.map_err(|reason| Error::invalid(format!("the arguments of `{name}` {reason}")))?;
    Ok((arguments, parsed))
}

/// The error for a model that asked for a tool that is not there: it says what the model can do about it.
fn unknown(turn: &Turn, name: &str) -> Error {
    let written = model_name(name);
    let tools = turn.scope.plugins.iter().flat_map(|plugin| &plugin.tools).filter(|tool| tool.for_model);
    let names: Vec<String> = tools.map(|tool| model_name(&tool.name)).collect();
    let close = bub_types::suggest::several(&written, names.iter().map(String::as_str), 3);
    let hint = match close.is_empty() {
        true => "those that there are stand in the system prompt".to_owned(),
        false => format!("did you mean one of these?\n- {}", close.join("\n- ")),
    };
    Error::new(ErrorKind::NotFound, format!("there is no tool `{written}`: {hint}"))
}

/// Calls the tool, with arguments that fit. Every outcome is a result that the model can read.
pub async fn ask(
    turn: &Arc<Turn>,
    depth: u32,
    plugin: &Arc<Plugin>,
    name: &String,
    arguments: &String,
) -> Result<String, Error> {
    let context = CallContext::inside(Call::Tool, turn, depth);
    let answer = call(&turn.scope.host, plugin, context, |GuestCall { exports, store, instance, .. }| {
        Box::pin(async move {
            let given = given!(store.data().recorder, name, arguments);
            let guest = exports.tools(store, &instance)?;
            let handle = store.data_mut().table.push(TurnHandle(turn.clone()))?;
            let answer = guest.call_call_tool(&mut *store, handle, name, arguments).await?;
            answered!(store.data().recorder, &answer);
            if let Ok(result) = &answer {
                check_json(result).map_err(|reason| contract(format!("the result of `{name}` is {reason}")))?;
            }
            given.discard();
            Ok(answer)
        })
    });
    match answer.await {
        Ok(Ok(result)) => match turn.charge_memory_for(Some(Running::new(plugin, Call::Tool)), result.len()) {
            Ok(()) => Ok(result),
            Err(_) => Err(Error::new(
                ErrorKind::Tool,
                format!("the result of `{}` is more than its turn can hold", model_name(name)),
            )),
        },
        Ok(Err(error)) => Err(error),
        Err(fault) => Err(Error::new(ErrorKind::Tool, Failure::Fault(fault).to_string())),
    }
}
