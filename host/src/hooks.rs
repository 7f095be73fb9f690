//! The table of hooks and the ways of calling them. What `none`, an error or a fault of a plugin means is decided here
//! and nowhere else.

mod commands;
mod interception;
mod model;
mod options;
mod prompt;
mod select;
mod stages;
mod store;
mod visit;

use crate::error::Failure;
use crate::plugin::bindings::Error;
use crate::plugin::{Answering, OnFault, Plugin, Site, Visit, call};
use crate::turn::Calls;
use std::sync::Arc;

pub(crate) use commands::run_command;
pub(crate) use interception::{ToolVerdict, after_llm_call, after_tool_call, before_llm_call, before_tool_call};
pub(crate) use model::{continue_prompt, run_model, system_prompt};
pub(crate) use options::model_options;
pub(crate) use prompt::build_prompt;
pub(crate) use select::{select, selectors, shadow};
pub use stages::{Admission, resolve_session};
pub(crate) use stages::{
    admit_message, after_turn, before_reset, dispatch, host_owned, load_state, render_outbound, save_state, tell,
};
pub(crate) use store::tape_store;

/// How the plugins that implement a hook are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One after the other until one answers.
    FirstResult,
    /// All of them.
    Broadcast,
    /// All of them, each seeing what the one before it changed.
    Chain,
    /// All of them, and what they break reaches nobody.
    Observer,
}

impl Way {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstResult => "first result",
            Self::Broadcast => "broadcast",
            Self::Chain => "chain",
            Self::Observer => "observer",
        }
    }
}

/// A hook: the last name of its WIT interface, how it is asked, and what Bub calls its stage.
pub struct HookSpec {
    /// The name in messages: that of the WIT interface.
    pub name: &'static str,
    /// How plugins are asked.
    pub way: Way,
    /// The name in events and in `on-error`.
    pub stage: &'static str,
}

const fn hook(name: &'static str, way: Way, stage: &'static str) -> HookSpec {
    HookSpec { name, way, stage }
}

/// All hooks, in the order in which a turn meets them.
pub const HOOKS: &[HookSpec] = &[
    hook("admit-message", Way::FirstResult, "admit_message"),
    hook("resolve-session", Way::FirstResult, "resolve_session"),
    hook("load-state", Way::Broadcast, "load_state"),
    hook("build-prompt", Way::FirstResult, "build_prompt"),
    hook("run-model", Way::FirstResult, "run_model"),
    hook("run-model-stream", Way::FirstResult, "run_model"),
    hook("system-prompt", Way::Broadcast, "system_prompt"),
    hook("selector", Way::FirstResult, "build_tape_context"),
    hook("before-llm-call", Way::Chain, "before_llm_call"),
    hook("provider", Way::FirstResult, "run_model"),
    hook("after-llm-call", Way::Observer, "after_llm_call"),
    hook("before-tool-call", Way::Chain, "before_tool_call"),
    hook("tools", Way::FirstResult, "run_model"),
    hook("after-tool-call", Way::Chain, "after_tool_call"),
    hook("continue-prompt", Way::FirstResult, "continue_prompt"),
    hook("save-state", Way::Broadcast, "save_state"),
    hook("render-outbound", Way::Broadcast, "render_outbound"),
    hook("dispatch-outbound", Way::Broadcast, "dispatch_outbound"),
    hook("on-error", Way::Observer, "on_error"),
    hook("after-turn", Way::Observer, "after_turn"),
    hook("before-reset", Way::Broadcast, "before_reset"),
    hook("provide-model-options", Way::Broadcast, "provide_model_options"),
    hook("commands", Way::Broadcast, "register_cli_commands"),
    hook("store", Way::FirstResult, "provide_tape_store"),
    hook("channel", Way::Broadcast, "provide_channels"),
];

fn stage(name: &str) -> &'static str {
    HOOKS.iter().find(|hook| hook.name == name).map_or("turn", |hook| hook.stage)
}

/// What a plugin's call gives: its own answer, its own error, or a fault.
type Answer<'a, T> = Answering<'a, Result<T, Error>>;

/// Asks one plugin.
async fn one<'c, T: Send>(
    calls: &Calls,
    plugin: &Arc<Plugin>,
    site: Site,
    ask: impl for<'a> FnOnce(Visit<'a, 'c>) -> Answer<'a, T> + Send,
) -> Result<T, Failure> {
    let hook = site.hook;
    let answer = call(&calls.host, plugin, site, ask).await?;
    answer.map_err(|error| Failure::Hook { hook, plugin: plugin.name.clone(), error })
}

/// First result: the latest registered plugin is asked first, and the first that answers wins.
async fn first<'c, T: Send>(
    calls: &Calls,
    site: &Site,
    ask: impl for<'a> Fn(Visit<'a, 'c>) -> Answer<'a, Option<T>> + Send + Sync,
) -> Result<Option<T>, Failure> {
    for plugin in calls.asked(site) {
        match one(calls, plugin, site.clone(), &ask).await {
            Ok(None) => {}
            Ok(answer) => return Ok(answer),
            Err(failure) => pass_over(calls, site, plugin, failure).await?,
        }
    }
    Ok(None)
}

/// Broadcast: every plugin is asked, the latest registered first; the answers stand in that order.
async fn all<'c, T: Send>(
    calls: &Calls,
    site: &Site,
    ask: impl for<'a> Fn(Visit<'a, 'c>) -> Answer<'a, T> + Send + Sync,
) -> Result<Vec<T>, Failure> {
    let mut answers = Vec::new();
    for plugin in calls.asked(site) {
        match one(calls, plugin, site.clone(), &ask).await {
            Ok(answer) => answers.push(answer),
            Err(failure) => pass_over(calls, site, plugin, failure).await?,
        }
    }
    Ok(answers)
}

/// A fault of a plugin that says `on_fault = "skip"` passes on, aloud. Everything else ends the stage.
async fn pass_over(calls: &Calls, site: &Site, plugin: &Plugin, failure: Failure) -> Result<(), Failure> {
    match (&failure, plugin.on_fault) {
        // Somebody else was quicker to try it: it is not asked, as if that had been known.
        (failure, _) if failure.is_held() => Ok(()),
        (Failure::Fault(_), OnFault::Skip) => {
            aloud(calls, site, &failure).await;
            Ok(())
        }
        _ => Err(failure),
    }
}

/// A failure that ends nothing is still heard: in the log, on the tape and by the observers.
async fn aloud(calls: &Calls, site: &Site, failure: &Failure) {
    // That it was not asked was said when it began.
    if failure.is_held() {
        return;
    }
    tracing::warn!("{failure}; the turn goes on without it");
    if let Some(turn) = &site.turn {
        let name = if matches!(failure, Failure::Fault(_)) { "plugin.fault" } else { "plugin.error" };
        let data = serde_json::json!({ "hook": site.hook, "message": failure.to_string() });
        if let Err(error) = turn.note(name, &data).await {
            tracing::warn!("the fault is not on the tape: {error}");
        }
    }
    let message = site.turn.as_ref().map(|turn| turn.envelope());
    // An observer of `on-error` that fails is not told of itself.
    if site.hook != "on-error" {
        Box::pin(tell(calls, site.turn.as_ref(), stage(site.hook), &failure.to_error(), message.as_ref())).await;
    }
}
