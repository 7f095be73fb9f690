//! One tool call, from its caller to the guest and back.

use crate::channel::ApprovalRequest;
use crate::error::Failure;
use crate::flow::{self, Reach};
use crate::guest::handles::TurnHandle;
use crate::guest::wasi::directories;
use crate::guest::{CallContext, GuestCall, Running, call};
use crate::hooks;
use crate::hooks::ToolVerdict;
use crate::imports::approvals::{Asker, about, consent};
use crate::imports::spill;
use crate::plugin::{Plugin, Tool, check_json, contract, effect_name, model_name, parse_json};
use crate::turn::{DenialReason, TaintSource, Turn, TurnEvent};
use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput, Verdict, decide, destructive, run_later};
use bub_types::Effect;
use bub_types::hook::Call;
use bub_types::text::one_line;
use bub_types::{Error, ErrorKind, MessageKind, Principal, ToolCall};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Tool calls of this process so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Runs one call, and notifies the listener.
pub(super) async fn run(turn: &Arc<Turn>, depth: u32, call: ToolCall) -> Result<String, Error> {
    let call = ToolCall { name: turn.dotted(&call.name), ..call };
    let (number, began) = (CALLS.fetch_add(1, Ordering::Relaxed), Instant::now());
    let (name, arguments) = (call.name.clone(), call.arguments.clone());
    turn.publish_tool_event(TurnEvent::ToolBegins { call: number, name, arguments, nested: turn.nesting() }).await;
    let outcome = intercepted(turn, depth, call).await;
    let error = outcome.as_ref().err().map(|error| error.message.clone());
    turn.publish_tool_event(TurnEvent::ToolEnds { call: number, took: began.elapsed(), error }).await;
    outcome
}

/// One call from the chain before it to the chain after it. Whatever happens is a result that the model can read.
async fn intercepted(turn: &Arc<Turn>, depth: u32, call: ToolCall) -> Result<String, Error> {
    if let Some(gate) = turn.scope.absent_gate() {
        let error = Error::denied(format!("the gate `{gate}` is not there to allow it"));
        turn.denied_call(DenialReason::Gate, gate, &call.name, &error);
        return Err(error);
    }
    let asked = call.clone();
    let (call, outcome) = match hooks::before_tool_call(turn, depth, call).await {
        ToolVerdict::Call(call, guest_closure) => {
            let outcome = decided(turn, depth, &call, guest_closure).await;
            (call, outcome)
        }
        ToolVerdict::Answered(outcome) => {
            if let Err(error) = &outcome
                && error.kind == ErrorKind::Denied
            {
                turn.denied_call(DenialReason::Gate, "", &asked.name, error);
            }
            (asked, outcome)
        }
    };
    let result = hooks::after_tool_call(turn, depth, &call, outcome).await?;
    // What a command answers is no part of the conversation.
    let tool = turn.tool(&call.name).filter(|_| !turn.is_typed(depth));
    if let Some((plugin, tool)) = tool {
        turn.record_result(plugin, tool, &call.arguments, &result);
    }
    let shown = spill::replace_new_messages(turn, &call.name, result).await;
    if let Some((plugin, tool)) = tool {
        turn.record_shown_result(plugin, tool, &shown);
    }
    Ok(shown)
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
    allowed(turn, depth, (plugin, tool), (call, &parsed), guest_closure).await?;
    // A turn that it begins has tools with effects of their own.
    let may_act = tool.effect != Effect::Read || turn.scope.host.grants.allows(plugin, "agent");
    if may_act {
        turn.tool_begins(call).await?;
    }
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

/// The host's own word, after the chain: it sees the arguments that the tool will get. `asking` are the plugins that want
/// the owner to be asked.
async fn allowed(
    turn: &Arc<Turn>,
    depth: u32,
    (plugin, tool): (&Plugin, &Tool),
    (call, arguments): (&ToolCall, &Value),
    guest_closure: Vec<(String, String)>,
) -> Result<(), Error> {
    let config = &turn.scope.host.config;
    let channel = &turn.message.channel;
    let mut askers: Vec<_> = guest_closure.into_iter().map(|(plugin, why)| Asker::plugin(plugin, &why)).collect();
    let is_typed = turn.is_typed(depth);
    let tainted = turn.tainted();
    let policy = &config.policy;
    // A clean owner may mostly do everything, so that nothing has to be found out about the call.
    let mut flows = match (turn.principal(), &tainted, policy.approve) {
        (Principal::Owner, None, ApprovalMode::Auto) | (Principal::Owner, _, ApprovalMode::All) => Vec::new(),
        _ => flows(turn, plugin, tool, arguments).await?,
    };
    if tool.effect == Effect::Run {
        flows.extend(destroys(arguments));
    }
    let input = PolicyInput {
        principal: turn.principal(),
        mode: policy.approve,
        asks_destructive: policy.ask_destructive,
        taint: tainted.as_deref(),
        declared: tool.effect,
        is_listed: config.allows_tool(channel, &tool.name),
        flows: &flows,
    };
    let decision = decide(&input);
    match decision.verdict {
        Verdict::Allow => {}
        // What the owner typed as a command is the owner's word already.
        Verdict::Ask if is_typed => {}
        Verdict::Deny if is_typed && turn.principal() == Principal::Owner => {}
        Verdict::Ask => {
            let is_spared = decide(&PolicyInput { taint: None, ..input }).verdict == Verdict::Allow;
            let ends_with_trust = is_spared && turn.is_tainted_by_workspace_alone();
            askers.insert(
                0,
                match decision.effect == tool.effect {
                    true => Asker::host(decision.why, ends_with_trust),
                    false => Asker::of_flows(decision.effect, decision.why, ends_with_trust),
                },
            );
        }
        Verdict::Deny if turn.principal() == Principal::Owner => {
            let effect = effect_name(decision.effect);
            let why = format!("the approval mode is `{}`", policy.approve);
            let name = model_name(&tool.name);
            let error = Error::denied(format!("`{name}` would {effect}, and {why}; only calls that read are made"));
            turn.scope
                .host
                .channel()
                .not_asked(&ApprovalRequest { why, ..about((plugin, tool), decision.effect, call) });
            turn.denied_call(DenialReason::Approval, &plugin.name, &tool.name, &error);
            return Err(error);
        }
        Verdict::Deny => {
            let because = flows.iter().map(|flow| format!(" ({flow})")).collect::<String>();
            let error = Error::denied(format!(
                "`{}` would {}{because}, which only the owner may do on channel `{channel}`; tools that read can be listed in `tools` of `[channels.{channel}]`",
                model_name(&tool.name),
                effect_name(decision.effect),
            ));
            turn.denied_call(DenialReason::Policy, &plugin.name, &tool.name, &error);
            return Err(error);
        }
    }
    let consented = consent(turn, (plugin, tool), decision.effect, call, askers).await;
    consented.inspect_err(|error| turn.denied_call(DenialReason::Approval, &plugin.name, &tool.name, error))?;
    // What a command answers is shown to who typed it, and is no part of the conversation.
    if is_typed {
        return Ok(());
    }
    if tool.reads_outside {
        turn.taint(TaintSource::outside(format!("tool:{}", tool.name)), || {
            format!("what `{}` read, which somebody else wrote, is in the conversation", tool.name)
        });
    } else if shows_workspace(turn, plugin, tool) && !config.trusts(&turn.workspace) {
        turn.taint(TaintSource::workspace(&turn.workspace), || {
            format!("what `{}` read of this untrusted workspace is in the conversation", tool.name)
        });
    }
    Ok(())
}

/// What this call would do beyond what its tool declares.
///
/// # Errors
///
/// The tape that knows what was named before cannot be read.
async fn flows(turn: &Turn, plugin: &Plugin, tool: &Tool, arguments: &Value) -> Result<Vec<Flow>, Error> {
    let mut flows = Vec::new();
    let reach = Reach::of(&turn.scope.host.grants.targets(plugin, "http:"));
    if let Some(reach) = reach {
        flows = turn.with_conversation(|conversation| flow::of_request(conversation, &reach, arguments)).await?;
    }
    if matches!(tool.effect, Effect::Write | Effect::Send) && may_write_files(turn, plugin) {
        flows.extend(run_later(turn, arguments));
    }
    Ok(flows)
}

/// The first command among the arguments that destroys something.
fn destroys(arguments: &Value) -> Option<Flow> {
    let texts = arguments.as_object()?.values().filter_map(Value::as_str);
    let command = texts.into_iter().find_map(destructive::destructive)?;
    Some(Flow::Destructive { command: one_line(&command) })
}

/// Whether a tool of the plugin may change a file.
fn may_write_files(turn: &Turn, plugin: &Plugin) -> bool {
    turn.scope.host.grants.targets(plugin, "fs:").iter().any(|held| held.ends_with(":rw"))
}

/// The first file that the arguments name and that runs later.
fn run_later(turn: &Turn, arguments: &Value) -> Option<Flow> {
    // Links in the workspace's own path are not the call's doing.
    let workspace = turn.workspace.canonicalize().unwrap_or_else(|_| turn.workspace.clone());
    let rules = &turn.scope.host.config.policy.runs_later;
    let runs_later = |path: &&str| run_later::resolve(&workspace, path).iter().any(|path| rules.holds(path));
    run_later::named(arguments).into_iter().find(runs_later).map(|path| Flow::RunsLater { path: one_line(path) })
}

/// Whether what the tool answers may stand in a file of the workspace: text of another author.
fn shows_workspace(turn: &Turn, plugin: &Plugin, tool: &Tool) -> bool {
    if !matches!(tool.effect, Effect::Read | Effect::Run) {
        return false;
    }
    let grants = &turn.scope.host.grants;
    grants.allows(plugin, "process") || grants.targets(plugin, "fs:").iter().any(|held| directories::is_workspace(held))
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

/// What a model that asked for a tool that is not there can do about it.
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

/// Calls the tool, with arguments that fit. Whatever happens is a result that the model can read.
pub async fn ask(
    turn: &Arc<Turn>,
    depth: u32,
    plugin: &Arc<Plugin>,
    name: &String,
    arguments: &String,
) -> Result<String, Error> {
    let context = CallContext::inside(Call::CallTool, turn, depth);
    let answer = call(&turn.scope.host, plugin, context, |GuestCall { exports, store, instance, .. }| {
        Box::pin(async move {
            let given = store.data().recorder.record(|| serde_json::json!([name, arguments]));
            let guest = exports.tools(store, &instance)?;
            let handle = store.data_mut().table.push(TurnHandle(turn.clone()))?;
            let answer = guest.call_call_tool(store, handle, name, arguments).await?;
            if let Ok(result) = &answer {
                check_json(result).map_err(|reason| contract(format!("the result of `{name}` is {reason}")))?;
            }
            given.discard();
            Ok(answer)
        })
    });
    match answer.await {
        Ok(Ok(result)) => match turn.charge_memory_for(Some(Running::new(plugin, Call::CallTool)), result.len()) {
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
