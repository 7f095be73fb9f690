//! The hooks of the pipeline, each with its types.

use super::{all, aloud, first, lend, one, pass_over};
use crate::error::Failure;
use crate::grants::view::{Selection, View};
use crate::plugin::bindings::{Envelope, Error, Prompt, StreamEvent};
use crate::plugin::{Plugin, Site, Visit, check_json, contract, parse_json};
use crate::turn::{Calls, Turn};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The first session id that is not empty: an empty id is no id.
pub(crate) async fn resolve_session(calls: &Calls, message: &Envelope) -> Result<Option<String>, Failure> {
    first(
        calls,
        &Site::outside("resolve-session"),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let answer = plugin
                    .exports
                    .resolve_session(store, &instance)?
                    .call_resolve_session(store, message)
                    .await?;
                Ok(answer.map(|id| id.filter(|id| !id.is_empty())))
            })
        },
    )
    .await
}

/// Merges what the plugins load into the turn's state: of two values for a key the latest registered plugin's wins. The
/// host's own keys stay as they are.
pub(crate) async fn load_state(turn: &Arc<Turn>) -> Result<(), Failure> {
    let loaded = all(
        &turn.calls,
        &Site::of("load-state", turn),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.load_state(store, &instance)?;
                let handle = lend(store, turn)?;
                match guest.call_load_state(store, handle).await? {
                    Err(error) => Ok(Err(error)),
                    Ok(None) => Ok(Ok(Map::new())),
                    Ok(Some(state)) => match parse_json(&state) {
                        Ok(Value::Object(state)) => Ok(Ok(state)),
                        Ok(_) => Err(contract("the state it loaded is no JSON object")),
                        Err(reason) => Err(contract(format!("the state it loaded is {reason}"))),
                    },
                }
            })
        },
    )
    .await?;
    for state in loaded.into_iter().rev() {
        for (key, value) in state {
            if !host_owned(&key) {
                turn.set(key, value);
            }
        }
    }
    Ok(())
}

/// Keys of the turn's state that guests read and the host writes.
pub(crate) fn host_owned(key: &str) -> bool {
    key.starts_with('_') || key == "session_id"
}

pub(crate) async fn build_prompt(turn: &Arc<Turn>) -> Result<Option<Prompt>, Failure> {
    first(
        &turn.calls,
        &Site::of("build-prompt", turn),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.build_prompt(store, &instance)?;
                let handle = lend(store, turn)?;
                let answer = guest.call_build_prompt(&mut *store, handle).await?;
                if let Ok(Some(Prompt::Parts(parts))) = &answer
                    && !matches!(parse_json(parts), Ok(Value::Array(_)))
                {
                    return Err(contract("the parts of its prompt are no JSON array"));
                }
                Ok(answer)
            })
        },
    )
    .await
}

/// Walks the plugins once, latest first, and asks each by whichever of the two model hooks it exports.
pub(crate) async fn run_model(turn: &Arc<Turn>, prompt: &Prompt) -> Result<Option<String>, Failure> {
    for plugin in turn.calls.plugins.iter().rev() {
        turn.listen_to(&plugin.name);
        let (hook, answer) = if plugin.implements("run-model") {
            ("run-model", run_whole(turn, plugin, prompt).await)
        } else if plugin.implements("run-model-stream") {
            ("run-model-stream", run_stream(turn, plugin, prompt).await)
        } else {
            continue;
        };
        match answer {
            Ok(None) => {}
            Ok(output) => return Ok(output),
            // What was said stays said: nobody else can start over behind it.
            Err(failure) if turn.speech().1 > 0 => return Err(failure),
            Err(failure) => pass_over(&turn.calls, &Site::of(hook, turn), plugin, failure).await?,
        }
    }
    Ok(None)
}

async fn run_whole(turn: &Arc<Turn>, plugin: &Arc<Plugin>, prompt: &Prompt) -> Result<Option<String>, Failure> {
    let output = one(
        &turn.calls,
        plugin,
        Site::of("run-model", turn),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.run_model(store, &instance)?;
                let handle = lend(store, turn)?;
                guest.call_run_model(store, handle, prompt).await
            })
        },
    )
    .await?;
    if let Some(text) = &output {
        turn.hear(&StreamEvent::Text(text.clone()));
    }
    Ok(output)
}

async fn run_stream(turn: &Arc<Turn>, plugin: &Arc<Plugin>, prompt: &Prompt) -> Result<Option<String>, Failure> {
    one(
        &turn.calls,
        plugin,
        Site::of("run-model-stream", turn),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.run_model_stream(store, &instance)?;
                let handle = lend(store, turn)?;
                let answer = guest.call_run_model_stream(store, handle, prompt).await?;
                match (answer, turn.speech()) {
                    (Err(error), _) => Ok(Err(error)),
                    (Ok(true), (text, _)) => Ok(Ok(Some(text))),
                    (Ok(false), (_, 0)) => Ok(Ok(None)),
                    (Ok(false), _) => Err(contract("it passed on after it had emitted events")),
                }
            })
        },
    )
    .await
}

pub(crate) async fn continue_prompt(turn: &Arc<Turn>, depth: u32, prompt: &Prompt) -> Result<Option<String>, Failure> {
    first(
        &turn.calls,
        &Site::inside("continue-prompt", turn, depth),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.continue_prompt(store, &instance)?;
                let handle = lend(store, turn)?;
                guest.call_continue_prompt(store, handle, prompt).await
            })
        },
    )
    .await
}

/// All parts in order of registration, the empty ones left out, with a blank line between them. A plugin that faults
/// leaves its part out: the others still hold.
pub(crate) async fn system_prompt(turn: &Arc<Turn>, depth: u32, prompt: &Prompt) -> Result<String, Failure> {
    let site = Site::inside("system-prompt", turn, depth);
    let mut parts = Vec::new();
    for plugin in turn.calls.plugins.exporting(site.hook).rev() {
        let part = one(
            &turn.calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let guest = plugin.exports.system_prompt(store, &instance)?;
                    let handle = lend(store, turn)?;
                    guest.call_system_prompt(store, handle, prompt).await
                })
            },
        )
        .await;
        match part {
            Ok(part) => parts.extend(part.filter(|part| !part.is_empty())),
            Err(failure @ Failure::Fault(_)) => aloud(&turn.calls, &site, &failure).await,
            Err(failure) => return Err(failure),
        }
    }
    Ok(parts.join("\n\n"))
}

/// What the selector in charge, the latest registered one, takes from the view. When it fails, the next one is asked.
pub(crate) async fn select(turn: &Arc<Turn>, depth: u32, view: &View) -> Option<Selection> {
    let site = Site::inside("selector", turn, depth);
    for plugin in turn.calls.plugins.exporting(site.hook) {
        let selected = one(
            &turn.calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let guest = plugin.exports.selector(store, &instance)?;
                    let handle = store.data_mut().table.push(view.clone())?;
                    match guest.call_select(store, handle).await? {
                        Ok(selected) => Ok(Ok(view.accept(selected).await?)),
                        Err(error) => Ok(Err(error)),
                    }
                })
            },
        )
        .await;
        match selected {
            Ok(selection) => return Some(selection),
            Err(failure) => aloud(&turn.calls, &site, &failure).await,
        }
    }
    None
}

pub(crate) async fn save_state(turn: &Arc<Turn>, output: &str, failure: Option<&Failure>) -> Result<(), Failure> {
    let failure = failure.map(Failure::to_error);
    let failure = failure.as_ref();
    all(
        &turn.calls,
        &Site::of("save-state", turn),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.save_state(store, &instance)?;
                let handle = lend(store, turn)?;
                guest.call_save_state(store, handle, output, failure).await
            })
        },
    )
    .await
    .map(drop)
}

pub(crate) async fn render_outbound(turn: &Arc<Turn>, output: &str) -> Result<Vec<Envelope>, Failure> {
    let batches = all(
        &turn.calls,
        &Site::of("render-outbound", turn),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                let guest = plugin.exports.render_outbound(store, &instance)?;
                let handle = lend(store, turn)?;
                let answer = guest.call_render_outbound(store, handle, output).await?;
                if let Ok(batch) = &answer {
                    check_context(batch)?;
                }
                Ok(answer)
            })
        },
    )
    .await?;
    Ok(batches.into_iter().flatten().collect())
}

fn check_context(envelopes: &[Envelope]) -> wasmtime::Result<()> {
    for (key, value) in envelopes.iter().flat_map(|envelope| &envelope.context) {
        check_json(value).map_err(|reason| contract(format!("the context `{key}` of its envelope is {reason}")))?;
    }
    Ok(())
}

/// Offers an outbound envelope to every plugin; the host hands it to its channel when none says that it did.
pub(crate) async fn dispatch(calls: &Calls, message: &Envelope) -> Result<(), Failure> {
    let delivered = all(
        calls,
        &Site::outside("dispatch-outbound"),
        |Visit {
             plugin,
             store,
             instance,
             ..
         }| {
            Box::pin(async move {
                plugin
                    .exports
                    .dispatch_outbound(store, &instance)?
                    .call_dispatch_outbound(store, message)
                    .await
            })
        },
    )
    .await?;
    if delivered.contains(&true) {
        Ok(())
    } else {
        calls.host.channel().send(message).await
    }
}

/// Tells the observers of `on-error`, and dispatches what they answer. Whatever goes wrong in here is logged and
/// reaches nobody.
pub(crate) async fn tell(
    calls: &Calls,
    turn: Option<&Arc<Turn>>,
    stage: &'static str,
    error: &Error,
    message: Option<&Envelope>,
) {
    let site = Site {
        hook: "on-error",
        turn: turn.cloned(),
        depth: 0,
    };
    for plugin in calls.plugins.exporting(site.hook) {
        let told = one(
            calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let envelopes = plugin
                        .exports
                        .on_error(store, &instance)?
                        .call_on_error(store, stage, error, message)
                        .await?;
                    check_context(&envelopes)?;
                    Ok(Ok(envelopes))
                })
            },
        );
        let envelopes = match told.await {
            Ok(envelopes) => envelopes,
            Err(failure) => {
                aloud(calls, &site, &failure).await;
                continue;
            }
        };
        // A channel that is broken would otherwise be told of it through itself, for ever.
        if stage == "dispatch_outbound" {
            continue;
        }
        for envelope in &envelopes {
            if let Err(failure) = dispatch(calls, envelope).await {
                tracing::warn!("what `on-error` said was not delivered: {failure}");
            }
        }
    }
}

pub(crate) async fn after_turn(turn: &Arc<Turn>, output: &str) {
    let site = Site::of("after-turn", turn);
    for plugin in turn.calls.plugins.exporting(site.hook) {
        let told = one(
            &turn.calls,
            plugin,
            site.clone(),
            |Visit {
                 plugin,
                 store,
                 instance,
                 ..
             }| {
                Box::pin(async move {
                    let guest = plugin.exports.after_turn(store, &instance)?;
                    let handle = lend(store, turn)?;
                    guest.call_after_turn(store, handle, output).await.map(Ok)
                })
            },
        );
        if let Err(failure) = told.await {
            aloud(&turn.calls, &site, &failure).await;
        }
    }
}
