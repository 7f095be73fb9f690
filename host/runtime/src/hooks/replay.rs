//! A call that broke once is made again, by the function that a turn calls the hook by: what the host makes of answers
//! belongs to the call.

use crate::error::Failure;
use crate::guest::bindings::exported::admit_message::SessionLoad;
use crate::guest::bindings::exported::before_llm_call::LlmRequest;
use crate::guest::view::{About, View};
use crate::imports::{chat, toolbox};
use crate::plugin::Plugin;
use crate::turn::{CallScope, SystemPrompt, Turn, TurnOptions, TurnSnapshot};
use bub_tape::{Draft, tape_name};
use bub_types::hook::{Call, HOOKS, Hook, Replay as ReplayMode};
use bub_types::text::one_line;
use bub_types::{Error, Prompt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// A call as it was kept.
pub struct Replay<'a> {
    /// The plugin whose call is replayed.
    pub plugin: &'a Arc<Plugin>,
    /// The export that ran.
    pub hook: &'a str,
    /// As the witness told them.
    pub arguments: Value,
    /// None, where the call was made outside of any turn.
    pub turn: Option<TurnSnapshot>,
}

/// Makes the call. Whether the plugin broke it is known by the host's meter; the answer is the error that ended it, if one
/// did and the hook is one that says.
///
/// # Errors
///
/// Why the call cannot be made again, or the tape's own failure.
pub async fn replay_call(scope: &Arc<CallScope>, recorded: Replay<'_>) -> Result<Option<Failure>, String> {
    let Replay { plugin, hook, arguments, turn } = recorded;
    let failed = |failure: Failure| failure.to_string();
    let unknown = || format!("calls of `{}` cannot be made again", one_line(hook));
    let call = Call::from_name(hook).ok_or_else(unknown)?;
    match call.replay() {
        ReplayMode::Never(reason) => return Err(reason.to_owned()),
        ReplayMode::Unknown => return Err(unknown()),
        _ => {}
    }
    // A recording answers what a selector asks of its view.
    if call == Hook::Selector
        && !scope.host.recordings.is_playback()
        && let Some(told) = &turn
    {
        put(scope, told.session(), &arguments).await?;
    }
    let (prompt, inside) = match turn {
        Some(told) => {
            let (open, cancel) = watch::channel(false);
            let prompt = told.prompt().to_owned();
            let turn = Turn::from_snapshot(scope, told, TurnOptions::new(cancel)).await.map_err(failed)?;
            (prompt, Some((open, turn)))
        }
        None => (String::new(), None),
    };
    let made = match &inside {
        Some((_, turn)) => in_turn(turn, plugin, call, arguments, prompt).await?,
        None if call.replay() == ReplayMode::Channel => channel(scope, plugin, call, arguments).await?,
        None => outside(scope, call, arguments).await?,
    };
    if let Some((_, turn)) = &inside {
        turn.discard().await;
    }
    Ok(made)
}

async fn in_turn(
    turn: &Arc<Turn>,
    plugin: &Arc<Plugin>,
    call: Call,
    told: Value,
    prompt: String,
) -> Result<Option<Failure>, String> {
    if call.replay() == ReplayMode::Isolated {
        // A plugin that is called after the turns that it selected for was that selector.
        turn.selected_by(&plugin.name);
        isolated(turn, call, told).await?;
        return Ok(None);
    }
    Ok(match call {
        Call::Hook(Hook::LoadState) => super::load_state(turn).await.err(),
        Call::Hook(Hook::BuildPrompt) => {
            // Of the version that sees what others have made, that; of the first one, nothing.
            let made: Vec<Prompt> = arguments(told)?;
            super::prompt::build_over(turn, made.into_iter().next()).await.err()
        }
        Call::Hook(Hook::RunModel | Hook::RunModelStream) => {
            super::run_model(turn, &arguments::<(Prompt,)>(told)?.0).await.err()
        }
        Call::Hook(Hook::ContinuePrompt) => {
            super::continue_prompt(turn, 0, &arguments::<(Prompt,)>(told)?.0).await.err()
        }
        Call::Hook(Hook::SystemPrompt) => super::system_prompt(turn, 0, &arguments::<(Prompt,)>(told)?.0).await.err(),
        Call::Hook(Hook::SaveState) => {
            let (output, error): (String, Option<Error>) = arguments(told)?;
            super::save_state(turn, &output, error.map(Failure::Refused).as_ref()).await.err()
        }
        Call::Hook(Hook::RenderOutbound) => super::render_outbound(turn, &arguments::<(String,)>(told)?.0).await.err(),
        Call::Hook(Hook::OnError) => on_error(&turn.scope.clone(), Some(turn), told).await?,
        Call::Hook(Hook::Selector) => {
            let said = serde_json::json!({ "role": "user", "content": prompt }).to_string();
            let model = turn.scope.host.config.model.model.clone();
            let (system, prompt) = (SystemPrompt::default(), Prompt::Text(prompt));
            let about = About { prompt, system, model, new_messages: vec![said], tools: Vec::new() };
            let view = View::new(turn, about).await.map_err(|error| error.to_string())?;
            super::select(turn, 0, &view, Some(&plugin.name)).await.err()
        }
        Call::Tool => {
            let (name, arguments): (String, String) = arguments(told)?;
            toolbox::ask(turn, 0, plugin, &name, &arguments).await.err().map(Failure::Refused)
        }
        Call::Complete => {
            let (request,) = arguments(told)?;
            let (sender, mut events) = mpsc::channel(64);
            // Without a reader the guest would wait for ever.
            tokio::spawn(async move { while events.recv().await.is_some() {} });
            chat::ask_provider(turn, 0, plugin, &Arc::new(request), sender).await.err().map(Failure::Refused)
        }
        call => return outside(&turn.scope.clone(), call, told).await,
    })
}

/// Hooks whose errors are logged only.
async fn isolated(turn: &Arc<Turn>, call: Call, told: Value) -> Result<(), String> {
    match call {
        Call::Hook(Hook::AfterTurn) => super::after_turn(turn, &arguments::<(String,)>(told)?.0).await,
        Call::Hook(Hook::BeforeReset) => drop(super::before_reset(turn, 0, arguments::<(bool,)>(told)?.0).await),
        Call::Hook(Hook::BeforeLlmCall) => {
            let (request,) = arguments::<(LlmRequest,)>(told)?;
            drop(super::before_llm_call(turn, 0, || request.clone(), |_, _| {}).await);
        }
        Call::Hook(Hook::AfterLlmCall) => {
            let (model, outcome): (String, _) = arguments(told)?;
            super::after_llm_call(turn, 0, &model, &outcome).await;
        }
        Call::Hook(Hook::BeforeToolCall) => drop(super::before_tool_call(turn, 0, arguments::<(_,)>(told)?.0).await),
        Call::Hook(Hook::AfterToolCall) => {
            let (call, outcome) = arguments(told)?;
            drop(super::after_tool_call(turn, 0, &call, outcome).await);
        }
        _ => drop(super::model_options(turn, 0).await),
    }
    Ok(())
}

async fn outside(scope: &Arc<CallScope>, call: Call, told: Value) -> Result<Option<Failure>, String> {
    Ok(match call {
        Call::Hook(Hook::ResolveSession) => super::resolve_session(scope, &arguments::<(_,)>(told)?.0).await.err(),
        Call::Hook(Hook::DispatchOutbound) => super::dispatch(scope, &arguments::<(_,)>(told)?.0).await.err(),
        Call::Hook(Hook::AdmitMessage) => {
            let (_, message, load): (String, _, SessionLoad) = arguments(told)?;
            super::admit_message(scope, &message, (load.running, load.pending as usize)).await;
            None
        }
        Call::Hook(Hook::OnError) => on_error(scope, None, told).await?,
        Call::RunCommand => {
            let (name, arguments): (String, Vec<String>) = arguments(told)?;
            super::run_command(scope, &name, &arguments).await.err()
        }
        call => return Err(format!("calls of `{call}` cannot be made again")),
    })
}

/// A function of a channel, which has no turn.
async fn channel(scope: &Arc<CallScope>, plugin: &Plugin, call: Call, told: Value) -> Result<Option<Failure>, String> {
    // That it says what it is belongs to each of them.
    let all = super::channels(scope).await;
    let own = all.iter().find(|channel| channel.plugin() == plugin.name);
    let Some(own) = own.filter(|_| call != Hook::Channel) else { return Ok(None) };
    Ok(match call {
        Call::Poll => own.poll(scope, arguments::<(_,)>(told)?.0).await.err(),
        Call::Receive => own.receive(scope, arguments::<(_,)>(told)?.0).await.err(),
        Call::Send => {
            let (message, key): (_, String) = arguments(told)?;
            own.send(scope, &message, &key).await.err()
        }
        _ => {
            let (handle, message): (String, _) = arguments(told)?;
            own.update(scope, &handle, &message).await.err()
        }
    })
}

async fn on_error(scope: &Arc<CallScope>, turn: Option<&Arc<Turn>>, told: Value) -> Result<Option<Failure>, String> {
    let (stage, error, message): (String, Error, _) = arguments(told)?;
    let stage = HOOKS.iter().map(|hook| hook.stage).find(|known| *known == stage).unwrap_or("turn");
    let message: Option<bub_types::Envelope> = message;
    super::notify_observers(scope, turn, stage, &error, message.as_ref()).await;
    Ok(None)
}

fn arguments<T: DeserializeOwned>(told: Value) -> Result<T, String> {
    if let Some(reason) = told.get("left_out").and_then(Value::as_str) {
        return Err(format!("what the call was given is not kept: {reason}"));
    }
    if told.is_null() {
        return Err("what the call was given is not kept: it broke before it was given anything".to_owned());
    }
    serde_json::from_value(told).map_err(|error| format!("what the call was given is not understood: {error}"))
}

#[derive(Deserialize)]
struct Shown {
    entries: Vec<ToldEntry>,
}

#[derive(Deserialize)]
struct ToldEntry {
    kind: String,
    payload: Value,
    meta: Value,
    date: String,
}

/// Puts what a selector was shown on the tape that it is going to look at.
async fn put(scope: &Arc<CallScope>, session: &str, told: &Value) -> Result<(), String> {
    let shown: Shown = arguments(told.clone())?;
    let draft = |entry: ToldEntry| {
        let draft = Draft::new(&entry.kind, &entry.payload.to_string(), &entry.meta.to_string())?;
        Ok(draft.dated(entry.date))
    };
    let put = async {
        let tape = scope.host.tapes().open(&tape_name(&scope.host.workspace, session))?;
        tape.bootstrap().await?;
        let drafts = shown.entries.into_iter().map(draft).collect::<bub_tape::Result<Vec<_>>>()?;
        tape.append(drafts).await
    };
    put.await.map(drop).map_err(|error| error.to_string())
}
