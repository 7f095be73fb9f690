//! The hooks of the model stage: who answers, and what an agent loop asks the others for.

use super::guest_call::guest_call;
use super::{call_first, call_one, report_failure, skip_or_fail};
use crate::error::Failure;
use crate::guest::CallContext;
use crate::plugin::{OpenCircuit, Plugin, contract};
use crate::turn::{SystemPrompt, Turn};
use bub_types::hook::Hook;
use bub_types::{Error, ErrorKind, Prompt, StreamEvent, SystemPart};
use std::sync::Arc;

/// Walks the plugins once, latest first, and asks each by whichever of the two model hooks it exports.
#[tracing::instrument(target = "otel", name = "run-model", skip_all)]
pub async fn run_model(turn: &Arc<Turn>, prompt: &Prompt) -> Result<Option<String>, Failure> {
    let mut skipped = None;
    let hooks = [Hook::RunModel, Hook::RunModelStream];
    hooks.into_iter().for_each(|hook| turn.passes_over_ungranted(hook));
    for plugin in turn.scope.plugins.iter().rev() {
        let Some(hook) = hooks.into_iter().find(|hook| turn.scope.may_answer(plugin, *hook)) else { continue };
        if let Some(circuit) = turn.scope.open_circuit(plugin, &CallContext::for_turn(hook, turn)) {
            skipped.get_or_insert(circuit);
            continue;
        }
        if let Some(circuit) = &skipped {
            warn_fallback(turn, &plugin.name, "is the model", circuit);
        }
        turn.start_stream(&plugin.name);
        let answer = match hook {
            Hook::RunModel => run_whole(turn, plugin, prompt).await,
            _ => run_stream(turn, plugin, prompt).await,
        };
        match answer {
            Ok(None) => {}
            Ok(output) => return Ok(output),
            // Output that was sent cannot be taken back, so no other plugin starts over.
            Err(failure) if turn.streamed().1 > 0 => return Err(failure),
            Err(failure) => skip_or_fail(&turn.scope, &CallContext::for_turn(hook, turn), plugin, failure).await?,
        }
    }
    match skipped {
        // Without a model plugin the prompt is the answer; here there is one, in quarantine.
        Some(circuit) => Err(Failure::Refused(Error::new(ErrorKind::Temporary, unavailable(&circuit)))),
        None => Ok(None),
    }
}

/// Says, once a turn, that it is not the plugin that the user expects.
pub(super) fn warn_fallback(turn: &Turn, name: &str, does: &str, circuit: &OpenCircuit) {
    if turn.note_skipped(circuit) {
        tracing::warn!("plugin `{name}` {does} in place of `{}`, which is in quarantine", circuit.plugin);
    }
}

fn unavailable(circuit: &OpenCircuit) -> String {
    format!("no other plugin answers while plugin `{}` is {circuit}", circuit.plugin)
}

async fn run_whole(turn: &Arc<Turn>, plugin: &Arc<Plugin>, prompt: &Prompt) -> Result<Option<String>, Failure> {
    let ask = guest_call!(turn; run_model.call_run_model(prompt));
    let output = call_one(&turn.scope, plugin, CallContext::for_turn(Hook::RunModel, turn), ask).await?;
    if let Some(text) = &output {
        let said = StreamEvent::Text(text.clone());
        turn.record_stream_event(&said);
        // The answer is complete, with or without a listener.
        let _ = turn.emit(said).await;
    }
    Ok(output)
}

async fn run_stream(turn: &Arc<Turn>, plugin: &Arc<Plugin>, prompt: &Prompt) -> Result<Option<String>, Failure> {
    let ask = guest_call!(turn; run_model_stream.call_run_model_stream(prompt), answer => match (answer, turn.streamed()) {
        (Err(error), _) => Ok(Err(error)),
        (Ok(true), (text, _)) => Ok(Ok(Some(text))),
        (Ok(false), (_, 0)) => Ok(Ok(None)),
        (Ok(false), _) => Err(contract("it passed on after it had emitted events")),
    });
    call_one(&turn.scope, plugin, CallContext::for_turn(Hook::RunModelStream, turn), ask).await
}

/// The prompt of the next step; none ends the loop.
pub async fn continue_prompt(turn: &Arc<Turn>, depth: u32, prompt: &Prompt) -> Result<Option<String>, Failure> {
    let ask = guest_call!(turn; continue_prompt.call_continue_prompt(prompt));
    call_first(&turn.scope, &CallContext::inside(Hook::ContinuePrompt, turn, depth), ask).await
}

/// The most parts that one plugin may make of its say.
const MAX_PARTS: usize = 64;

/// All parts in order of registration, the empty ones left out. A plugin that faults leaves its parts out: the others
/// still hold. Later steps of a turn reuse the parts for the same prompt, unless something has changed meanwhile.
pub async fn system_prompt(turn: &Arc<Turn>, depth: u32, prompt: &Prompt) -> Result<SystemPrompt, Failure> {
    let context = CallContext::inside(Hook::SystemPrompt, turn, depth);
    let asked: Vec<_> = turn.scope.callable(&context).rev().collect();
    let made = turn.prompt_cache_key(prompt, asked.iter().map(|plugin| plugin.digest.clone()).collect());
    if let Some(told) = turn.cached_system_prompt(&made) {
        return Ok(told);
    }
    let mut is_whole = true;
    let mut parts = Vec::new();
    for plugin in asked {
        let ask = guest_call!(turn; system_prompt.call_system_prompt(prompt), answer => {
            check_parts(answer.as_deref().unwrap_or_default())?;
            Ok(answer)
        });
        match call_one(&turn.scope, plugin, context.clone(), ask).await {
            Ok(said) => parts.extend(said.into_iter().map(|part| (plugin.name.as_str(), part))),
            Err(failure @ Failure::Fault(_)) => {
                is_whole = false;
                report_failure(&turn.scope, &context, &failure).await;
            }
            Err(failure) => return Err(failure),
        }
    }
    let told = SystemPrompt::from_parts(parts);
    turn.cache_system_prompt(is_whole.then_some(made), &told);
    Ok(told)
}

/// The name of a part is shown to people, so it holds nothing but a name.
fn check_parts(parts: &[SystemPart]) -> wasmtime::Result<()> {
    if parts.len() > MAX_PARTS {
        return Err(contract(format!("it made {} parts of the system prompt, and may make {MAX_PARTS}", parts.len())));
    }
    let is_name = |name: &str| {
        let may_stand = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=64).contains(&name.len()) && name.bytes().all(may_stand)
    };
    match parts.iter().find(|part| !is_name(&part.name)) {
        Some(part) => {
            let shown = bub_types::text::escaped(&part.name, 64);
            Err(contract(format!(
                "it named a part of the system prompt `{shown}`; a name is 1 to 64 lower-case letters, digits and `-`"
            )))
        }
        None => Ok(()),
    }
}
