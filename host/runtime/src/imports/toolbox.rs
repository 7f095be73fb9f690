//! `bub:tools/toolbox`: all tools of all plugins, for agent loops.

mod call;
mod command_rules;
mod direct;
mod policy;
mod run_concurrently;

pub use call::ask;
pub use direct::{DirectCall, call_directly};

use self::run_concurrently::{Work, run_concurrently};
use crate::guest::State;
use crate::guest::bindings::toolbox::Host;
use crate::guest::handles::TurnHandle;
use crate::turn::Turn;
use bub_permissions::Grant;
use bub_types::{Effect, ToolSpec};
use bub_types::{Error, ToolCall};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tracing::Instrument;
use wasmtime::Result;
use wasmtime::component::Resource;

/// Tool calls that are taken at once.
const MAX_CALLS: usize = 64;

/// Tool calls of one list that run at once: each may take all the memory that its plugin may.
const MAX_AT_ONCE: usize = 8;

impl Host for State {
    async fn list_tools(&mut self, turn: Resource<TurnHandle>) -> Result<Result<Vec<ToolSpec>, Error>> {
        let turn = self.turn_of(&turn)?;
        let tools = turn.scope.plugins.iter().flat_map(|plugin| &plugin.tools);
        let may_use = self.may_use();
        let granted = tools.filter(|tool| turn.has_tool(&tool.name) && may_use(tool));
        Ok(Ok(granted.map(|tool| ToolSpec::clone(tool)).collect()))
    }

    async fn call_tools(
        &mut self,
        turn: Resource<TurnHandle>,
        calls: Vec<ToolCall>,
    ) -> Result<Result<Vec<Result<String, Error>>, Error>> {
        let turn = self.turn_of(&turn)?;
        let depth = match self.check_depth() {
            Ok(depth) => depth,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if calls.len() > MAX_CALLS {
            return Ok(Err(Error::invalid(format!(
                "{} tool calls at once; at most {MAX_CALLS} are taken",
                calls.len()
            ))));
        }
        self.has_read = true;
        let mut running: Vec<Work<_>> = Vec::new();
        // The places belong to this one call: a tool that calls tools gets others, so that no call waits for its own caller.
        let places = Arc::new(Semaphore::new(MAX_AT_ONCE));
        // Tools that change something run in call order; tools that only read do not wait.
        let mut changes = Vec::new();
        for (at, call) in calls.into_iter().enumerate() {
            let granted = self.granted(&Grant::tool(&turn.dotted(&call.name)));
            let job = Job { at, call, granted };
            if turn.tool(&job.call.name).is_some_and(|(_, tool)| tool.effect == Effect::Read) {
                running.push(Box::pin(jobs(turn.clone(), depth, places.clone(), vec![job]).in_current_span()));
            } else {
                changes.push(job);
            }
        }
        if !changes.is_empty() {
            running.push(Box::pin(jobs(turn.clone(), depth, places, changes).in_current_span()));
        }
        let mut outcomes: Vec<_> = run_concurrently(running).await.into_iter().flatten().collect();
        outcomes.sort_by_key(|(at, _)| *at);
        Ok(Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect()))
    }
}

impl State {
    /// Which tools the plugin may see and call; looked up once where it holds them all.
    pub(super) fn may_use(&self) -> impl Fn(&ToolSpec) -> bool {
        let all = self.holds(&Grant::ALL_TOOLS);
        move |tool| all || self.holds(&Grant::tool(&tool.name))
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
    let _token = turn.task_token();
    let mut outcomes = Vec::new();
    for Job { at, call, granted } in jobs {
        // The semaphore is never closed, so there is a place in the end.
        let _place = places.acquire().await;
        let outcome = match granted {
            Ok(()) => call::run(&turn, depth, call).await,
            Err(refusal) => Err(refusal),
        };
        outcomes.push((at, outcome));
    }
    outcomes
}
