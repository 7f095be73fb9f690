//! `bub:tools/toolbox`: all tools of all plugins, for whoever runs an agent loop.

use super::policy::{Verdict, judge};
use super::turn::TurnHandle;
use crate::channel::Question;
use crate::error::Failure;
use crate::hooks::{self, ToolVerdict};
use crate::plugin::bindings::schema::{Effect, ToolSpec};
use crate::plugin::bindings::toolbox::Host;
use crate::plugin::bindings::{Error, ErrorKind, MessageKind, ToolCall, schema};
use crate::plugin::store::State;
use crate::plugin::{
    Plugin, Site, Visit, call, check_json, contract, deeper, digest, model_name, one_line, parse_json,
};
use crate::turn::Turn;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use wasmtime::Result;
use wasmtime::component::Resource;

/// Tool calls that are taken at once.
const MAX_CALLS: usize = 64;

/// Tool calls of one list that run at once: each may take all the memory that its plugin may.
const MAX_AT_ONCE: usize = 8;

impl schema::Host for State {}

impl Host for State {
    async fn list_tools(&mut self, turn: Resource<TurnHandle>) -> Result<Result<Vec<ToolSpec>, Error>> {
        let turn = self.turn_of(&turn)?;
        let tools = turn.calls.plugins.iter().flat_map(|plugin| &plugin.tools);
        Ok(Ok(tools.filter(|tool| self.holds(&format!("tools:{}", tool.name))).cloned().collect()))
    }

    async fn call_tools(
        &mut self,
        turn: Resource<TurnHandle>,
        calls: Vec<ToolCall>,
    ) -> Result<Result<Vec<Result<String, Error>>, Error>> {
        let turn = self.turn_of(&turn)?;
        let depth = match deeper(self.depth, self.plugin.limits.depth) {
            Ok(depth) => depth,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if calls.len() > MAX_CALLS {
            return Ok(Err(Error::invalid(format!(
                "{} tool calls at once; at most {MAX_CALLS} are taken",
                calls.len()
            ))));
        }
        let mut running = JoinSet::new();
        // The places belong to this one call: a tool that calls tools gets others, so nobody waits for their own caller.
        let places = Arc::new(Semaphore::new(MAX_AT_ONCE));
        for (at, call) in calls.into_iter().enumerate() {
            let granted = self.granted(&format!("tools:{}", dotted(&turn, &call.name)));
            let turn = turn.clone();
            let places = places.clone();
            running.spawn(async move {
                let _working = turn.working();
                // Closed by nobody: there is always a place in the end.
                let _place = places.acquire_owned().await;
                let outcome = match granted {
                    Ok(()) => run(&turn, depth, call).await,
                    Err(refusal) => Err(refusal),
                };
                (at, outcome)
            });
        }
        let mut outcomes = running.join_all().await;
        outcomes.sort_by_key(|(at, _)| *at);
        Ok(Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect()))
    }
}

/// The name of a tool as its plugin gave it, for a name as a model writes it. A name that nobody has stays as it is.
pub(crate) fn dotted(turn: &Turn, name: &str) -> String {
    let written = model_name(name);
    let known =
        turn.calls.plugins.iter().flat_map(|plugin| &plugin.tools).find(|tool| model_name(&tool.name) == written);
    known.map_or_else(|| name.to_owned(), |tool| tool.name.clone())
}

/// One call from the chain before it to the chain after it. Whatever happens is a result that the model can read.
async fn run(turn: &Arc<Turn>, depth: u32, call: ToolCall) -> Result<String, Error> {
    let call = ToolCall { name: dotted(turn, &call.name), ..call };
    if let Some(gate) = turn.calls.absent_gate() {
        return Err(Error::denied(format!("the gate `{gate}` is not there to allow it")));
    }
    let asked = call.clone();
    let (call, outcome) = match hooks::before_tool_call(turn, depth, call).await {
        ToolVerdict::Call(call) => {
            let outcome = match allowed(turn, &call).await {
                Ok(()) => invoke(turn, depth, &call).await,
                Err(refusal) => Err(refusal),
            };
            (call, outcome)
        }
        ToolVerdict::Answered(outcome) => (asked, outcome),
    };
    hooks::after_tool_call(turn, depth, &call, outcome).await
}

/// The host's own word, after the chain: it sees the arguments that the tool will get.
async fn allowed(turn: &Arc<Turn>, call: &ToolCall) -> Result<(), Error> {
    // A tool that nobody has gets its own error, where it is called.
    let Some(tool) = turn.calls.plugins.iter().flat_map(|plugin| &plugin.tools).find(|tool| tool.name == call.name)
    else {
        return Ok(());
    };
    let tainted = turn.tainted();
    let is_listed = turn.calls.host.config.channel(&turn.message.channel).tools.contains(&tool.name);
    let effect = effect_name(tool.effect);
    match judge(turn.principal(), tainted.is_some(), tool.effect, is_listed) {
        Verdict::Allow => {}
        Verdict::Ask => {
            let why = tainted.unwrap_or_default();
            let question = Question {
                tool: tool.name.clone(),
                arguments: one_line(&call.arguments),
                digest: digest(call.arguments.as_bytes()),
                effect,
                why: why.clone(),
            };
            if !turn.calls.host.channel().ask(&question).await {
                return Err(Error::denied(format!(
                    "`{}` would {effect}, which needs the owner's word in this turn ({why}); `run --allow {effect}` gives it",
                    model_name(&tool.name)
                )));
            }
        }
        Verdict::Deny => {
            return Err(Error::denied(format!(
                "`{}` would {effect}, which only the owner may do on channel `{}`; tools that read can be listed in `tools` of `[channels.{1}]`",
                model_name(&tool.name),
                turn.message.channel
            )));
        }
    }
    if tool.reads_outside {
        turn.taint(|| format!("`{}` read what somebody else wrote", tool.name));
    }
    Ok(())
}

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Send => "send",
        Effect::Run => "run",
    }
}

async fn invoke(turn: &Arc<Turn>, depth: u32, call: &ToolCall) -> Result<String, Error> {
    let Some(plugin) = turn.calls.plugins.iter().find(|plugin| plugin.tools.iter().any(|tool| tool.name == call.name))
    else {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no tool `{}`", model_name(&call.name))));
    };
    let for_model = plugin.tools.iter().any(|tool| tool.name == call.name && tool.for_model);
    if !for_model && turn.kind() != MessageKind::Command {
        return Err(Error::denied(format!("the tool `{}` is for people, not for models", model_name(&call.name))));
    }
    // A model that means "no arguments" often writes nothing at all.
    let arguments = if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments.clone() };
    match parse_json(&arguments) {
        Ok(Value::Object(_)) => {}
        Ok(_) => {
            return Err(Error::invalid(format!("the arguments of `{}` are no JSON object", model_name(&call.name))));
        }
        Err(reason) => {
            return Err(Error::invalid(format!("the arguments of `{}` are {reason}", model_name(&call.name))));
        }
    }
    let effect = plugin.tools.iter().find(|tool| tool.name == call.name).map(|tool| tool.effect);
    if effect != Some(Effect::Read) {
        turn.tool_begins(call).await?;
    }
    ask(turn, depth, plugin, &call.name, &arguments).await
}

async fn ask(
    turn: &Arc<Turn>,
    depth: u32,
    plugin: &Arc<Plugin>,
    name: &String,
    arguments: &String,
) -> Result<String, Error> {
    let site = Site::inside("call-tool", turn, depth);
    let answer = call(&turn.calls.host, plugin, site, |Visit { exports, store, instance, .. }| {
        Box::pin(async move {
            let guest = exports.tools(store, &instance)?;
            let handle = store.data_mut().table.push(TurnHandle(turn.clone()))?;
            let answer = guest.call_call_tool(store, handle, name, arguments).await?;
            if let Ok(result) = &answer {
                check_json(result).map_err(|reason| contract(format!("the result of `{name}` is {reason}")))?;
            }
            Ok(answer)
        })
    });
    match answer.await {
        Ok(Ok(result)) => match turn.hold(result.len()) {
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
