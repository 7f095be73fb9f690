//! The user's rules for commands, applied to the arguments of a call.

use crate::plugin::{Plugin, Source, Tool};
use crate::turn::{OUTSIDE, Turn};
use bub_permissions::policy::KeptRule;
use bub_permissions::policy::commands::{CommandRules, RuleDecision, RuleScope, RuleVerdict};
use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput};
use bub_types::Principal;
use serde_json::{Map, Value};
use std::path::{Component, Path};

/// The tool of the embedded guest `shell`, whose arguments are known.
const BASH: &str = "bash";

/// The argument of it that is a command.
const COMMAND: &str = "cmd";

/// Its arguments that change nothing about what the command may do. That it leaves the sandbox is a flow, which the policy
/// judges.
const NEUTRAL: [&str; 6] = [COMMAND, "cwd", "timeout_seconds", "background", OUTSIDE, "reason"];

/// Arguments of other tools that are commands, as far as they can be known: a text, or a list of words.
const COMMANDS: [&str; 5] = ["cmd", "command", "commands", "script", "argv"];

/// What the rules say about a call of a tool that runs commands; `None`: nothing. Only commands of the program's own tool
/// can be allowed: what another does with its arguments is not known.
pub(super) fn verdict(
    rules: &CommandRules,
    turn: &Turn,
    (plugin, tool): (&Plugin, &Tool),
    arguments: &Value,
) -> Option<RuleVerdict> {
    if rules.is_empty() {
        return None;
    }
    let arguments = arguments.as_object()?;
    if is_bash(plugin, tool) {
        let verdict = rules.judge(arguments.get(COMMAND)?.as_str()?)?;
        let holds = verdict.decision != RuleDecision::Allow || is_plain(turn, arguments);
        return holds.then_some(verdict);
    }
    let commands = arguments.iter().filter(|(key, _)| COMMANDS.contains(&key.to_ascii_lowercase().as_str()));
    let verdicts = commands.flat_map(|(_, value)| match value {
        Value::String(line) => vec![rules.judge(line)],
        Value::Array(values) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            // Words of one command, or a list of commands.
            let lines = texts.iter().map(|line| rules.judge(line));
            lines.chain([rules.judge_words(texts.iter().copied())]).collect()
        }
        _ => Vec::new(),
    });
    let restricts = |verdict: &RuleVerdict| verdict.decision != RuleDecision::Allow;
    verdicts.flatten().filter(restricts).max_by_key(|verdict| verdict.decision)
}

/// The rules that would answer the question about this call from now on.
pub(super) fn offer(
    rules: &CommandRules,
    turn: &Turn,
    (plugin, tool): (&Plugin, &Tool),
    arguments: &Value,
    (input, flows): (&PolicyInput<'_>, &[Flow]),
) -> Vec<KeptRule> {
    let leaves = flows.iter().any(|flow| matches!(flow, Flow::Outside { .. }));
    let is_about_command = flows.iter().all(|flow| match flow {
        Flow::Destructive { .. } => true,
        Flow::Outside { .. } => input.taint.is_none(),
        _ => false,
    });
    let may_be_ruled = is_about_command
        && is_bash(plugin, tool)
        && input.principal == Principal::Owner
        && matches!(input.mode, ApprovalMode::Ask | ApprovalMode::Auto);
    let Some(arguments) = arguments.as_object().filter(|arguments| may_be_ruled && is_plain(turn, arguments)) else {
        return Vec::new();
    };
    let Some(command) = arguments.get(COMMAND).and_then(Value::as_str) else { return Vec::new() };
    let offered = rules.offer(command, RuleScope { tainted: input.taint.is_some(), outside: leaves });
    offered.into_iter().map(KeptRule::Command).collect()
}

fn is_bash(plugin: &Plugin, tool: &Tool) -> bool {
    plugin.source == Source::Embedded && tool.name == BASH
}

/// Whether nothing but the command and a directory of the workspace is said.
fn is_plain(turn: &Turn, arguments: &Map<String, Value>) -> bool {
    let is_inside = |directory: &str| {
        let path = Path::new(directory);
        let path = path.strip_prefix(&turn.workspace).unwrap_or(path);
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    arguments.keys().all(|key| NEUTRAL.contains(&key.as_str()))
        && match arguments.get("cwd") {
            None | Some(Value::Null) => true,
            Some(Value::String(directory)) => is_inside(directory),
            Some(_) => false,
        }
}
