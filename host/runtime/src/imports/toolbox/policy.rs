//! Whether a tool call may be made: the policy, and the owner's approval.

use super::command_rules;
use crate::channel::ApprovalRequest;
use crate::flow::{self, Reach};
use crate::guest::wasi::directories;
use crate::imports::approvals::{Asker, about, consent};
use crate::plugin::{Plugin, Tool, effect_name, model_name};
use crate::turn::{Decision, DenialReason, TaintOrigin, TaintSource, Turn, asks_outside};
use bub_config::Process;
use bub_permissions::policy::commands::{RuleDecision, RuleVerdict};
use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput, Verdict, decide, destructive, run_later};
use bub_permissions::{Grant, GrantKind};
use bub_sandbox::Backend;
use bub_types::text::one_line;
use bub_types::{Effect, Error, Principal, ToolCall};
use serde_json::Value;
use std::sync::Arc;

/// How a call that may be made is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// As its plugin's grants say.
    AsEver,
    /// With its command outside of the sandbox.
    Outside,
}

/// The host's own word, after the chain: it sees the arguments that the tool will get. `asking` are the plugins that want
/// the owner to be asked. Whatever is more than a call of the owner's clean turn is written down.
pub(super) async fn allowed(
    turn: &Arc<Turn>,
    depth: u32,
    (plugin, tool): (&Plugin, &Tool),
    (call, arguments): (&ToolCall, &Value),
    asking: Vec<(String, String)>,
) -> Result<Allowed, Error> {
    let taint = turn.taint_facts();
    let mut decision = Decision { plugins: asking.clone(), ..Decision::default() };
    let outcome = judged(turn, depth, (plugin, tool), (call, arguments), asking, &mut decision).await;
    let is_plain = matches!(decision.cause, "clean" | "reads" | "typed") && decision.answer.is_none();
    if !(is_plain && outcome.is_ok()) {
        let error = outcome.as_ref().err().map(|error| error.message.as_str());
        turn.decided((&plugin.name, call), &decision, taint, error);
    }
    outcome
}

async fn judged(
    turn: &Arc<Turn>,
    depth: u32,
    (plugin, tool): (&Plugin, &Tool),
    (call, arguments): (&ToolCall, &Value),
    guest_closure: Vec<(String, String)>,
    decided: &mut Decision,
) -> Result<Allowed, Error> {
    let config = &turn.scope.host.config;
    let channel = &turn.message.channel;
    let mut askers: Vec<_> = guest_closure.into_iter().map(|(plugin, why)| Asker::plugin(plugin, &why)).collect();
    let is_typed = turn.is_typed(depth);
    let tainted = turn.tainted();
    let (policy, mode) = (&config.policy, turn.approval_mode());
    (decided.mode, decided.effect) = (mode.to_string(), effect_name(tool.effect));
    (decided.verdict, decided.cause) = ("deny", "strict");
    // A clean owner may mostly do everything, so that nothing has to be found out about the call.
    let mut flows = match (turn.principal(), &tainted, mode) {
        (Principal::Owner, None, ApprovalMode::Auto) | (Principal::Owner, _, ApprovalMode::All) => Vec::new(),
        _ => flows(turn, plugin, tool, arguments).await?,
    };
    let mut allowed = Allowed::AsEver;
    if tool.effect == Effect::Run {
        flows.extend(destroys(arguments));
        let outside = leaves_sandbox(turn, plugin, arguments);
        let outside =
            outside.inspect_err(|error| turn.denied_call(DenialReason::Policy, &plugin.name, &tool.name, error))?;
        if let Some(flow) = outside {
            flows.push(flow);
            allowed = Allowed::Outside;
        }
    }
    let rules = host_rules(turn, tool);
    let rule = rules.as_ref().and_then(|rules| command_rules::verdict(&rules.rules, turn, (plugin, tool), arguments));
    let input = PolicyInput {
        principal: turn.principal(),
        mode,
        asks_destructive: policy.ask_destructive,
        taint: tainted.as_deref(),
        declared: tool.effect,
        is_listed: config.allows_tool(channel, &tool.name),
        flows: &flows,
        rule: rule.as_ref(),
    };
    let decision = decide(&input);
    decided.verdict = match decision.verdict {
        // A command that the owner typed is approved already.
        _ if is_typed && turn.principal() == Principal::Owner && denied_by(rule.as_ref()).is_none() => "allow",
        Verdict::Allow if askers.is_empty() => "allow",
        Verdict::Allow | Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    };
    decided.cause = match decision.verdict {
        Verdict::Ask | Verdict::Deny if decided.verdict == "allow" => "typed",
        Verdict::Allow if !askers.is_empty() => "plugin",
        _ => decision.cause.name(),
    };
    decided.effect = effect_name(decision.effect);
    decided.flows = flows.iter().map(Flow::to_string).collect();
    decided.rule = rule.as_ref().map(|rule| (rule.rule.clone(), rule.why.clone()));
    let mut offered = Vec::new();
    match decision.verdict {
        Verdict::Allow => {}
        // A command that the owner typed is approved already.
        Verdict::Ask if is_typed => {}
        Verdict::Deny if is_typed && turn.principal() == Principal::Owner => {}
        Verdict::Ask => {
            let is_spared = decide(&PolicyInput { taint: None, ..input }).verdict == Verdict::Allow;
            let ends_with_trust = is_spared && turn.is_tainted_by_workspace_alone();
            decided.ends_with_trust = ends_with_trust;
            // A rule spares no question of a plugin.
            if let Some(rules) = rules.filter(|_| askers.is_empty()) {
                offered = command_rules::offer(&rules.rules, turn, (plugin, tool), arguments, (&input, &flows));
            }
            askers.insert(
                0,
                match decision.effect == tool.effect {
                    true if allowed == Allowed::Outside => Asker::of_outside(decision.why, tainted.is_some()),
                    true => Asker::host(decision.why, ends_with_trust),
                    false => Asker::of_flows(decision.effect, decision.why, ends_with_trust),
                },
            );
        }
        Verdict::Deny if denied_by(rule.as_ref()).is_some() => {
            let why = denied_by(rule.as_ref()).unwrap_or_default();
            let error = Error::denied(format!("`{}` is not called: {why}", model_name(&tool.name)));
            turn.denied_call(DenialReason::Policy, &plugin.name, &tool.name, &error);
            return Err(error);
        }
        Verdict::Deny if turn.principal() == Principal::Owner => {
            let effect = effect_name(decision.effect);
            let why = format!("the approval mode is `{mode}`");
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
    let consented = consent(turn, (plugin, tool), decision.effect, call, askers, offered).await;
    let consented = consented.map(|answer| decided.answer = answer).map_err(|(error, answer)| {
        decided.answer = Some(answer);
        error
    });
    consented.inspect_err(|error| turn.denied_call(DenialReason::Approval, &plugin.name, &tool.name, error))?;
    // The answer of a command is shown to its sender, and is no part of the conversation.
    if is_typed {
        return Ok(allowed);
    }
    if tool.reads_outside {
        let source = TaintSource::outside(format!("tool:{}", tool.name));
        turn.taint_from(source, TaintOrigin::call(call.id.as_ref()), || {
            format!("what `{}` read is text from outside, and is in the conversation", tool.name)
        });
    } else if shows_workspace(turn, plugin, tool) && !config.trusts(&turn.workspace) {
        let source = TaintSource::workspace(&turn.workspace);
        turn.taint_from(source, TaintOrigin::call(call.id.as_ref()), || {
            format!("what `{}` read of this untrusted workspace is in the conversation", tool.name)
        });
    }
    Ok(allowed)
}

/// The command that the call would run outside of the sandbox, if it asks for that and its plugin's programs are in one.
///
/// # Errors
///
/// No program leaves the sandbox.
fn leaves_sandbox(turn: &Turn, plugin: &Plugin, arguments: &Value) -> Result<Option<Flow>, Error> {
    let host = &turn.scope.host;
    let is_confined =
        || host.grants.allows(plugin, &Grant::PROCESS_SANDBOXED) && !host.grants.allows(plugin, &Grant::PROCESS);
    if !asks_outside(arguments) || !is_confined() || *host.sandboxes.find(&host.config).backend() == Backend::None {
        return Ok(None);
    }
    if host.config.process.strict {
        return Err(Error::denied("no program leaves the sandbox, as `strict` of `[process]` in config.toml demands"));
    }
    let texts = arguments.as_object().into_iter().flat_map(|all| all.iter()).filter(|(name, _)| *name != "reason");
    let command = texts.filter_map(|(_, value)| value.as_str()).next().unwrap_or_default();
    Ok(Some(Flow::Outside { command: one_line(command) }))
}

/// The flows of this call beyond what its tool declares.
///
/// # Errors
///
/// The tape that knows what was named before cannot be read.
async fn flows(turn: &Turn, plugin: &Plugin, tool: &Tool, arguments: &Value) -> Result<Vec<Flow>, Error> {
    let mut flows = Vec::new();
    let reach = Reach::from_grants(&turn.scope.host.grants.held(plugin, GrantKind::Http));
    if let Some(reach) = reach {
        flows = turn.with_conversation(|conversation| flow::of_request(conversation, &reach, arguments)).await?;
    }
    if matches!(tool.effect, Effect::Write | Effect::Send) && may_write_files(turn, plugin) {
        flows.extend(run_later(turn, arguments));
    }
    Ok(flows)
}

/// The reason of a rule that denies.
fn denied_by(rule: Option<&RuleVerdict>) -> Option<&str> {
    rule.filter(|rule| rule.decision == RuleDecision::Deny).map(|rule| rule.why.as_str())
}

/// The rules for commands, for a tool that runs some.
fn host_rules(turn: &Turn, tool: &Tool) -> Option<Arc<Process>> {
    (tool.effect == Effect::Run).then(|| turn.scope.host.rules.process())
}

/// The first command among the arguments that destroys something.
fn destroys(arguments: &Value) -> Option<Flow> {
    let texts = arguments.as_object()?.values().filter_map(Value::as_str);
    let command = texts.into_iter().find_map(destructive::destructive)?;
    Some(Flow::Destructive { command: one_line(&command) })
}

/// Whether a tool of the plugin may change a file.
fn may_write_files(turn: &Turn, plugin: &Plugin) -> bool {
    turn.scope
        .host
        .grants
        .held(plugin, GrantKind::Fs)
        .iter()
        .any(|held| held.directory().is_some_and(|(_, writes)| writes))
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
    grants.starts_programs(plugin) || grants.held(plugin, GrantKind::Fs).iter().any(directories::is_workspace)
}
