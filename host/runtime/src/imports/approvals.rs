//! Asks the owner about tool calls.

use crate::approval_board::{self, Answer};
use crate::channel::{ApprovalDecision, ApprovalRequest};
use crate::host::ApprovalKey;
use crate::plugin::{Plugin, Source, Tool, effect_name, model_name};
use crate::turn::{OwnersWord, Turn};
use bub_permissions::policy::KeptRule;
use bub_types::Effect;
use bub_types::text::one_line;
use bub_types::{Error, ToolCall};

/// Asks by itself, beside the plugins that do.
const HOST: &str = "";

/// The source of an approval request.
pub(super) struct Asker {
    /// The plugin; empty: the host.
    name: String,
    why: String,
    /// Whether to trust the workspace would have spared the question.
    ends_with_trust: bool,
    /// The word of `--allow` that spares the question; none: the call's effect.
    allowed_by: Option<&'static str>,
    /// Whether an earlier `always` does not spare it.
    asks_again: bool,
}

/// The word of `--allow` for commands outside of the sandbox.
const OUTSIDE: &str = "outside";

impl Asker {
    /// The host's own rules.
    pub(super) fn host(why: String, ends_with_trust: bool) -> Self {
        Self { name: HOST.to_owned(), why, ends_with_trust, allowed_by: None, asks_again: false }
    }

    /// The same, where this call does more than its tool declares: what was said of the tool is not said of that.
    pub(super) fn of_flows(effect: Effect, why: String, ends_with_trust: bool) -> Self {
        let name = format!("{HOST}:{}", effect_name(effect));
        Self { name, why, ends_with_trust, allowed_by: None, asks_again: false }
    }

    /// The same, where a command would leave the sandbox: what was allowed inside is not allowed there. `asks_again`: the
    /// turn is tainted.
    pub(super) fn of_outside(why: String, asks_again: bool) -> Self {
        let name = format!("{HOST}:{OUTSIDE}");
        Self { name, why, ends_with_trust: false, allowed_by: Some(OUTSIDE), asks_again }
    }

    /// A plugin, with the reason that it gave before the call.
    pub(super) fn plugin(name: String, why: &str) -> Self {
        let why = format!("{} (asked for by the plugin `{name}`)", one_line(why));
        Self { name, why, ends_with_trust: false, allowed_by: None, asks_again: false }
    }
}

/// Lets the owner decide about a call that these want to be asked about, showing it as it will be made. `always` holds for
/// a call of that tool with exactly these arguments and that effect in that session, `never` for the tool in that session;
/// both include turns inside its turns, and hold for the asker that asked. `effect` is what this call does, which may be
/// more than its tool declares. `rules` would allow its command from now on.
///
/// # Errors
/// The owner rejected the call, or no owner can be asked; and which of the two it is.
pub(super) async fn consent(
    turn: &Turn,
    (plugin, tool): (&Plugin, &Tool),
    effect: Effect,
    call: &ToolCall,
    askers: Vec<Asker>,
    rules: Vec<KeptRule>,
) -> Result<Option<OwnersWord>, (Error, OwnersWord)> {
    let host = &turn.scope.host;
    let session = &turn.outermost().session_id;
    let of_tool = |asker: &Asker| ApprovalKey::new(session, &asker.name, &tool.name, &plugin.digest);
    let of_call = |asker: &Asker| of_tool(asker).with_call(effect, &call.arguments);
    let name = model_name(&tool.name);
    let mut open = Vec::new();
    let is_asked = !askers.is_empty();
    for asker in askers {
        if host.approvals.get(&of_tool(&asker)) == Some(false) {
            return Err((refused(&name), OwnersWord::without("kept")));
        }
        if asker.asks_again || host.approvals.get(&of_call(&asker)) != Some(true) {
            open.push(asker);
        }
    }
    if open.is_empty() {
        return Ok(is_asked.then(|| OwnersWord::without("kept")));
    }
    if open.iter().all(|asker| turn.is_approved(asker.allowed_by.unwrap_or(effect_name(effect)))) {
        return Ok(Some(OwnersWord::without("in-advance")));
    }
    let question = ApprovalRequest {
        why: open.iter().map(|asker| asker.why.as_str()).collect::<Vec<_>>().join("; "),
        ends_with_trust: open.iter().all(|asker| asker.ends_with_trust),
        rules,
        ..about((plugin, tool), effect, call)
    };
    let answer = approval_board::ask(&turn.scope, session, &question).await;
    let receipt = serde_json::json!({
        "tool": tool.name,
        "plugin": plugin.name,
        "effect": question.effect,
        "decision": answer.as_ref().map(|answer| answer.decision.name()),
        "by": answer.as_ref().map(|answer| &answer.place),
    });
    turn.receipt("approval", receipt);
    let Some(Answer { decision, by, id, .. }) = answer else {
        host.channel().not_asked(&question);
        let word = open.iter().find_map(|asker| asker.allowed_by).unwrap_or(question.effect);
        return Err((no_owner(&question, word, &name), OwnersWord::without("nobody")));
    };
    let word = OwnersWord { how: "asked", decision: Some(decision.name()), by, id };
    match decision {
        ApprovalDecision::Once => Ok(Some(word)),
        ApprovalDecision::Always => {
            host.approvals.keep(open.iter().map(of_call), true);
            Ok(Some(word))
        }
        // It was not offered, so it was not meant for this question.
        ApprovalDecision::Rule if question.rules.is_empty() => Err((refused(&name), word)),
        ApprovalDecision::Rule => {
            if let Err(error) = host.rules.keep(&question.rules) {
                tracing::warn!("the call is made, but no rule is kept: {error:#}");
            }
            Ok(Some(word))
        }
        ApprovalDecision::No => Err((refused(&name), word)),
        ApprovalDecision::Never => {
            host.approvals.keep(open.iter().map(of_tool), false);
            Err((refused(&name), word))
        }
    }
}

/// A question about that call, without the reason for it.
pub(super) fn about((plugin, tool): (&Plugin, &Tool), effect: Effect, call: &ToolCall) -> ApprovalRequest {
    ApprovalRequest {
        tool: tool.name.clone(),
        plugin: (plugin.source != Source::Embedded).then(|| plugin.name.clone()),
        arguments: call.arguments.clone(),
        effect: effect_name(effect),
        why: String::new(),
        ends_with_trust: false,
        rules: Vec::new(),
    }
}

fn refused(name: &str) -> Error {
    Error::denied(format!("the owner was asked about `{name}` and said no"))
}

/// The error where no owner answers, with what the user can do about it.
fn no_owner(question: &ApprovalRequest, word: &str, name: &str) -> Error {
    let ApprovalRequest { effect, why, .. } = question;
    let trust = match question.ends_with_trust {
        true => ", and `bub-wasm trust` vouches for the files of the workspace",
        false => "",
    };
    Error::denied(format!(
        "`{name}` would {effect}, which needs the owner's word in this turn ({why}); `chat` and the page of `serve` ask for it, `run --allow {word}` gives it{trust}"
    ))
}
