//! The turn pipeline: one inbound envelope from session resolution to delivery.

use super::data::Turn;
use super::direct::DirectStage;
use super::options::TurnOptions;
use super::scope::CallScope;
use super::spans;
use crate::channel::{reply, shown};
use crate::error::Failure;
use crate::hooks;
use crate::host::Host;
use bub_types::{Envelope, Prompt};
use std::sync::Arc;

/// The result of a turn.
#[derive(Debug)]
pub struct TurnResult {
    /// The session that it belongs to.
    pub session_id: String,
    /// The model's answer, or its replacement.
    pub output: String,
    /// The envelopes that were dispatched.
    pub outbounds: Vec<Envelope>,
    /// The ids of its model calls, as in the meta of the entries that they wrote.
    pub run_ids: Vec<String>,
    /// Why its latest model call ended, as the provider said.
    pub finish_reason: Option<String>,
    /// Tokens of its model calls, turns inside of it included.
    pub usage: bub_model::usage::Tokens,
}

/// Runs one turn. If it fails, the tape keeps what was written, the observers of `on-error` are notified, and the
/// failure is returned.
pub async fn run_turn(host: &Arc<Host>, inbound: Envelope, options: TurnOptions) -> Result<TurnResult, Failure> {
    drive(host, inbound, options, None).await
}

/// The same; `direct` takes the place of the prompt, the model and the delivery.
#[tracing::instrument(name = "turn", skip_all, fields(channel = inbound.channel, session, otel.parent = options.parent(),
    principal, fuel, outcome, error.type, otel.status))]
pub(super) async fn drive(
    host: &Arc<Host>,
    mut inbound: Envelope,
    options: TurnOptions,
    direct: Option<DirectStage<'_>>,
) -> Result<TurnResult, Failure> {
    let scope = CallScope::for_turn(host, options.channel());
    let begun = begin(&scope, &mut inbound, options).await;
    let outcome = match &begun {
        Ok(turn) => stages(turn, direct).await,
        Err(failure) => Err(failure.clone()),
    };
    let turn = begun.ok();
    if let Some(turn) = &turn {
        turn.end(outcome.is_err()).await;
    }
    if let (Some(turn), Ok(result)) = (&turn, &outcome) {
        turn.begin_after_answer(direct.is_none().then(|| result.output.clone()));
    }
    if let Err(failure) = &outcome {
        spans::turn_failed(failure);
        // A client that disconnected is not notified of that, and a session that another worker goes on with not by this.
        if !matches!(failure, Failure::Cancelled | Failure::LeaseLost) {
            let message = turn.as_ref().map_or(inbound, |turn| turn.envelope());
            hooks::notify_observers(&scope, turn.as_ref(), "turn", &failure.to_user_error(), Some(&message)).await;
        }
        turn.iter().for_each(|turn| turn.write_recording(Some(failure)));
    }
    outcome
}

/// The session is resolved, written back to the envelope, and its tape opened.
async fn begin(scope: &Arc<CallScope>, inbound: &mut Envelope, options: TurnOptions) -> Result<Arc<Turn>, Failure> {
    inbound.media.iter_mut().for_each(|item| item.url = scope.media.extract_url(&item.url));
    let session_id = match options.session() {
        Some(session_id) => session_id,
        None => resolve_session(scope, inbound).await?,
    };
    tracing::Span::current().record("session", &session_id);
    inbound.session_id = Some(session_id.clone());
    let turn = Turn::begin(scope, session_id, inbound.clone(), options).await?;
    turn.record_message_id(inbound).await?;
    Ok(turn)
}

async fn stages(turn: &Arc<Turn>, direct: Option<DirectStage<'_>>) -> Result<TurnResult, Failure> {
    let thought = think(turn, direct).await;
    turn.finalize(thought.as_ref().err()).await?;
    let output = thought?;
    let outbounds = match direct {
        Some(_) => Vec::new(),
        None => turn.finalize_late(turn.or_cancelled(answer(turn, &output)).await).await?,
    };
    let (run_ids, usage, finish_reason) = (turn.run_ids(), turn.spent(), turn.finish_reason());
    Ok(TurnResult { session_id: turn.session_id.clone(), output, outbounds, run_ids, finish_reason, usage })
}

/// The stages up to the model's answer. `save-state` runs exactly once when the model stage was entered, however it
/// ended, and its own error takes the place of the model's.
async fn think(turn: &Arc<Turn>, direct: Option<DirectStage<'_>>) -> Result<String, Failure> {
    turn.or_cancelled(hooks::load_state(turn)).await?;
    let output = match direct {
        Some(stage) => turn.or_cancelled(stage(Arc::clone(turn))).await,
        None => {
            let prompt = turn.or_cancelled(build_prompt(turn)).await?;
            turn.record_prompt(&prompt).await?;
            turn.or_cancelled(run_model(turn, &prompt)).await
        }
    };
    hooks::save_state(turn, output.as_deref().unwrap_or_default(), output.as_ref().err()).await?;
    output
}

/// The first non-empty id; else the envelope's own, else `channel:chat_id`, each `default` when absent.
pub async fn resolve_session(scope: &Arc<CallScope>, inbound: &Envelope) -> Result<String, Failure> {
    if let Some(id) = hooks::resolve_session(scope, inbound).await? {
        return Ok(id);
    }
    let or_default = |text: &str| {
        if text.is_empty() { "default".to_owned() } else { text.to_owned() }
    };
    Ok(match &inbound.session_id {
        Some(id) if !id.is_empty() => id.clone(),
        _ => format!("{}:{}", or_default(&inbound.channel), or_default(&inbound.chat_id)),
    })
}

/// The first answer; the message's text when no plugin answers, and also when the answer is empty.
pub(super) async fn build_prompt(turn: &Arc<Turn>) -> Result<Prompt, Failure> {
    Ok(match hooks::build_prompt(turn).await? {
        Some(Prompt::Text(text)) if !text.is_empty() => Prompt::Text(text),
        Some(Prompt::Parts(parts)) => Prompt::Parts(turn.scope.media.extract(&parts).into_owned()),
        _ => Prompt::Text(shown(&turn.message)),
    })
}

/// The first plugin that answers. When none does, the terminal gets the prompt back, so that a host without a model
/// can be tried; every other channel gets the error.
pub(super) async fn run_model(turn: &Arc<Turn>, prompt: &Prompt) -> Result<String, Failure> {
    if let Some(output) = turn.output(prompt).await? {
        return Ok(output);
    }
    let failure = Failure::NoModel;
    if turn.message.channel != "cli" {
        return Err(failure);
    }
    hooks::notify_observers(&turn.scope, Some(turn), "run_model", &failure.to_user_error(), Some(&turn.message)).await;
    Ok(match prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Parts(_) => shown(&turn.message),
    })
}

/// All batches joined; one envelope from the output when they are all empty.
async fn render_outbound(turn: &Arc<Turn>, output: &str) -> Result<Vec<Envelope>, Failure> {
    let rendered = hooks::render_outbound(turn, output).await?;
    if !rendered.is_empty() {
        return Ok(rendered);
    }
    Ok(vec![reply(&turn.session_id, &turn.message, output)])
}

/// The output as envelopes, each dispatched.
async fn answer(turn: &Arc<Turn>, output: &str) -> Result<Vec<Envelope>, Failure> {
    let outbounds = render_outbound(turn, output).await?;
    for outbound in &outbounds {
        hooks::dispatch(&turn.scope, outbound).await?;
    }
    Ok(outbounds)
}
