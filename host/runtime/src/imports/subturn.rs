//! `bub:turn/subturn`: a turn inside a turn.

use super::approvals::{Asker, consent};
use crate::guest::State;
use crate::guest::bindings::subturn::{Host, Request};
use crate::guest::handles::TurnHandle;
use crate::plugin::{Plugin, Tool, effect_name};
use crate::turn::{Decision, DenialReason, Inner, Turn};
use bub_permissions::Grant;
use bub_permissions::policy::{Flow, PolicyInput, Verdict, decide};
use bub_types::{Effect, ToolSpec};
use bub_types::{Error, Principal, Prompt, ToolCall};
use tokio::sync::watch;
use tracing::Instrument;
use wasmtime::component::Resource;

impl Host for State {
    async fn run(&mut self, turn: Resource<TurnHandle>, request: Request) -> wasmtime::Result<Result<String, Error>> {
        let turn = self.turn_of(&turn)?;
        if let Err(refusal) = self.granted(&Grant::AGENT) {
            return Ok(Err(refusal));
        }
        if let Some(session) = turn.foreign_session(request.session.as_deref())
            && let Err(refusal) = may_enter(&turn, self.depth, &self.plugin, session, &request.prompt).await
        {
            return Ok(Err(refusal));
        }
        self.has_read = true;
        let inner = Inner {
            prompt: request.prompt,
            session: request.session,
            model: request.model,
            tools: request.tools,
            skills: request.skills,
        };
        // In a task of its own, so that turns inside turns do not grow one future without end.
        let (cancel, abandoned) = watch::channel(false);
        let run = async move {
            let token = turn.task_token();
            turn.run_inner(inner, abandoned, token).await
        };
        let task = tokio::spawn(run.in_current_span());
        Ok(match (CancelOnDrop { task, cancel }).await {
            Ok(output) => output.map_err(|failure| failure.to_error()),
            Err(error) => Err(Error::new(bub_types::ErrorKind::Unknown, error.to_string())),
        })
    }
}

/// The tool that the owner is asked about when a turn wants to go on in another session, whichever tool or plugin wants
/// it.
const TOOL: &str = "subagent";

/// Lets a turn inside `turn` be one of that session, which is not `turn`'s own: as far as the token reaches, who caused the
/// turn may do it, and, where the turn is tainted, the owner says so.
async fn may_enter(turn: &Turn, depth: u32, plugin: &Plugin, session: &str, prompt: &Prompt) -> Result<(), Error> {
    let shown = bub_types::text::escaped(session, 64);
    let prefix = turn.session_prefix();
    if !session.starts_with(&prefix) {
        let error = Error::denied(format!(
            "session `{shown}` is out of reach: the principal of this turn reaches only sessions that begin with `{}`",
            prefix.escape_debug()
        ));
        turn.denied_call(DenialReason::Reach, &plugin.name, TOOL, &error);
        return Err(error);
    }
    let tainted = turn.tainted();
    let (policy, mode) = (&turn.scope.host.config.policy, turn.approval_mode());
    let input = PolicyInput {
        principal: turn.principal(),
        mode,
        asks_destructive: policy.ask_destructive,
        taint: tainted.as_deref(),
        declared: Effect::Read,
        is_listed: false,
        flows: &[Flow::OtherSession { session: shown.clone() }],
        rule: None,
    };
    let decision = decide(&input);
    match decision.verdict {
        Verdict::Allow => Ok(()),
        // A command that the owner typed is approved already.
        Verdict::Ask | Verdict::Deny if turn.is_typed(depth) && turn.principal() == Principal::Owner => Ok(()),
        Verdict::Ask => {
            let arguments = serde_json::json!({ "plugin": plugin.name, "prompt": prompt.text(), "session": session });
            let call = ToolCall { id: None, name: TOOL.to_owned(), arguments: arguments.to_string() };
            let spec = ToolSpec {
                name: TOOL.to_owned(),
                description: String::new(),
                parameters: r#"{"type": "object"}"#.to_owned(),
                for_model: true,
                effect: decision.effect,
                reads_outside: false,
            };
            let tool = Tool::new(spec).map_err(Error::invalid)?;
            let is_spared = decide(&PolicyInput { taint: None, ..input }).verdict == Verdict::Allow;
            let ends_with_trust = is_spared && turn.is_tainted_by_workspace_alone();
            let asker = Asker::of_flows(decision.effect, decision.why, ends_with_trust);
            let consented = consent(turn, (plugin, &tool), decision.effect, &call, vec![asker], Vec::new()).await;
            let (answer, error) = match consented {
                Ok(answer) => (answer, None),
                Err((error, answer)) => (Some(answer), Some(error)),
            };
            let record = Decision {
                verdict: "ask",
                cause: decision.cause.name(),
                effect: effect_name(decision.effect),
                mode: mode.to_string(),
                flows: input.flows.iter().map(Flow::to_string).collect(),
                answer,
                ends_with_trust,
                ..Decision::default()
            };
            let why = error.as_ref().map(|error| error.message.as_str());
            turn.decided((&plugin.name, &call), &record, turn.taint_facts(), why);
            error.map_or(Ok(()), Err).inspect_err(|error| {
                turn.denied_call(DenialReason::Approval, &plugin.name, TOOL, error);
            })
        }
        Verdict::Deny if turn.principal() == Principal::Owner => {
            let error =
                Error::denied(format!("session `{shown}` is not this turn's own, and the approval mode is `{mode}`"));
            turn.denied_call(DenialReason::Approval, &plugin.name, TOOL, &error);
            Err(error)
        }
        Verdict::Deny => {
            let error = Error::denied(format!(
                "session `{shown}` is not this turn's own, and only the owner may let a turn go on in another; `temp` and `inherit` are open to all"
            ));
            turn.denied_call(DenialReason::Policy, &plugin.name, TOOL, &error);
            Err(error)
        }
    }
}

/// Cancels the turn when its caller stops waiting. It is not aborted: what its tools have done is still written down, and
/// the programs that it started are ended.
struct CancelOnDrop<T> {
    task: tokio::task::JoinHandle<T>,
    cancel: watch::Sender<bool>,
}

impl<T> std::future::Future for CancelOnDrop<T> {
    type Output = std::result::Result<T, tokio::task::JoinError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.task).poll(context)
    }
}

impl<T> Drop for CancelOnDrop<T> {
    fn drop(&mut self) {
        self.cancel.send_replace(true);
    }
}
