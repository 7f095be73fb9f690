//! `bub:tools/toolbox`: all tools of all plugins, for whoever runs an agent loop.

use super::policy::{Verdict, judge};
use super::spill;
use super::turn::TurnHandle;
use crate::channel::Question;
use crate::error::Failure;
use crate::hooks::{self, ToolVerdict};
use crate::plugin::bindings::schema::{Effect, ToolSpec};
use crate::plugin::bindings::toolbox::Host;
use crate::plugin::bindings::{Error, ErrorKind, MessageKind, ToolCall, schema};
use crate::plugin::store::State;
use crate::plugin::{
    Plugin, Site, Tool, Visit, call, check_json, contract, deeper, digest, model_name, one_line, parse_json,
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
        let granted = tools.filter(|tool| turn.has_tool(&tool.name) && self.holds(&format!("tools:{}", tool.name)));
        Ok(Ok(granted.map(|tool| ToolSpec::clone(tool)).collect()))
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
        // What changes something happens in the order in which it was asked for; what only reads waits for nobody.
        let mut changes = Vec::new();
        for (at, call) in calls.into_iter().enumerate() {
            let granted = self.granted(&format!("tools:{}", dotted(&turn, &call.name)));
            let job = Job { at, call, granted };
            if tool_of(&turn, &job.call.name).is_some_and(|tool| tool.effect == Effect::Read) {
                running.spawn(jobs(turn.clone(), depth, places.clone(), vec![job]));
            } else {
                changes.push(job);
            }
        }
        running.spawn(jobs(turn.clone(), depth, places, changes));
        let mut outcomes: Vec<_> = running.join_all().await.into_iter().flatten().collect();
        outcomes.sort_by_key(|(at, _)| *at);
        Ok(Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect()))
    }
}

/// A call with its place in the list.
struct Job {
    at: usize,
    call: ToolCall,
    granted: Result<(), Error>,
}

/// One call after the other.
async fn jobs(
    turn: Arc<Turn>,
    depth: u32,
    places: Arc<Semaphore>,
    jobs: Vec<Job>,
) -> Vec<(usize, Result<String, Error>)> {
    let _working = turn.working();
    let mut outcomes = Vec::new();
    for Job { at, call, granted } in jobs {
        // Closed by nobody: there is always a place in the end.
        let _place = places.acquire().await;
        let outcome = match granted {
            Ok(()) => run(&turn, depth, call).await,
            Err(refusal) => Err(refusal),
        };
        outcomes.push((at, outcome));
    }
    outcomes
}

/// The tool of that name, as a model or a person writes it.
fn tool_of<'a>(turn: &'a Turn, name: &str) -> Option<&'a Tool> {
    let written = model_name(name);
    let mut tools = turn.calls.plugins.iter().flat_map(|plugin| &plugin.tools);
    tools.find(|tool| model_name(&tool.name) == written && turn.has_tool(&tool.name))
}

/// The name of a tool as its plugin gave it, for a name as a model writes it. A name that nobody has stays as it is.
pub(crate) fn dotted(turn: &Turn, name: &str) -> String {
    tool_of(turn, name).map_or_else(|| name.to_owned(), |tool| tool.name.clone())
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
    let outcome = hooks::after_tool_call(turn, depth, &call, outcome).await;
    match outcome {
        Ok(result) => Ok(spill::shorten(turn, &call.name, result).await),
        Err(error) => Err(error),
    }
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
    let of_plugin = |plugin: &&Arc<Plugin>| plugin.tools.iter().any(|tool| tool.name == call.name);
    let plugin = turn.calls.plugins.iter().find(of_plugin);
    let Some((plugin, tool)) = plugin.zip(tool_of(turn, &call.name)) else {
        return Err(unknown(turn, &call.name));
    };
    let name = model_name(&tool.name);
    if !tool.for_model && turn.kind() != MessageKind::Command {
        return Err(Error::denied(format!("the tool `{name}` is for people, not for models")));
    }
    // A model that means "no arguments" often writes nothing at all.
    let arguments = if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments.clone() };
    let fits = match parse_json(&arguments) {
        Ok(value @ Value::Object(_)) => tool.check(&value),
        Ok(_) => Err("are no JSON object".to_owned()),
        Err(reason) => Err(format!("are {reason}")),
    };
    fits.map_err(|reason| Error::invalid(format!("the arguments of `{name}` {reason}")))?;
    if tool.effect != Effect::Read {
        turn.tool_begins(call).await?;
    }
    ask(turn, depth, plugin, &call.name, &arguments).await
}

/// What a model that asked for a tool that is not there can do about it.
fn unknown(turn: &Turn, name: &str) -> Error {
    let written = model_name(name);
    let tools = turn.calls.plugins.iter().flat_map(|plugin| &plugin.tools).filter(|tool| tool.for_model);
    let names: Vec<String> = tools.map(|tool| model_name(&tool.name)).collect();
    let close = crate::nearest::several(&written, names.iter().map(String::as_str), 3);
    let hint = match close.is_empty() {
        true => "those that there are stand in the system prompt".to_owned(),
        false => format!("did you mean one of these?\n- {}", close.join("\n- ")),
    };
    Error::new(ErrorKind::NotFound, format!("there is no tool `{written}`: {hint}"))
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
