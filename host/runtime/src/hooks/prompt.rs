//! The prompt of a turn: two versions of one hook, side by side.

use super::guest_call::guest_call;
use super::{call_one, skip_or_fail};
use crate::error::Failure;
use crate::guest::CallContext;
use crate::plugin::{Plugin, contract, parse_json};
use crate::turn::Turn;
use bub_types::hook::Hook;
use bub_types::{Error, Prompt};
use serde_json::Value;
use std::pin::Pin;
use std::sync::Arc;

/// The prompt that the plugins make of the message; none: no plugin made one.
#[tracing::instrument(target = "otel", name = "build-prompt", skip_all)]
pub async fn build_prompt(turn: &Arc<Turn>) -> Result<Option<Prompt>, Failure> {
    build_over(turn, None).await
}

/// The same, on top of a prompt that was made before.
pub(super) async fn build_over(turn: &Arc<Turn>, base: Option<Prompt>) -> Result<Option<Prompt>, Failure> {
    let context = CallContext::for_turn(Hook::BuildPrompt, turn);
    let asked: Vec<&Arc<Plugin>> = turn.scope.callable(&context).collect();
    made(turn, &context, &asked, base.as_ref()).await
}

type Making<'a> = Pin<Box<dyn Future<Output = Result<Option<Prompt>, Failure>> + Send + 'a>>;

/// The prompt that these plugins make, the first of them asked first. One of version 0.1.0 that answers keeps those
/// behind it from being asked; one of 0.2.0 wants to see what they make.
fn made<'a>(
    turn: &'a Arc<Turn>,
    context: &'a CallContext,
    asked: &'a [&'a Arc<Plugin>],
    base: Option<&'a Prompt>,
) -> Making<'a> {
    Box::pin(async move {
        let Some((plugin, behind)) = asked.split_first() else { return Ok(base.cloned()) };
        let (answer, under) = if plugin.adds_to_prompt() {
            let under = made(turn, context, behind, base).await?;
            let shown = under.clone().filter(|prompt| !is_empty(prompt));
            let shown = &shown.unwrap_or_else(|| Prompt::Text(crate::channel::shown(&turn.message)));
            let ask = guest_call!(turn; build_prompt_trial.call_build_prompt(shown), answer => checked(answer));
            (call_one(&turn.scope, plugin, context.clone(), ask).await, Some(under))
        } else {
            let ask = guest_call!(turn; build_prompt.call_build_prompt(), answer => checked(answer));
            (call_one(&turn.scope, plugin, context.clone(), ask).await, None)
        };
        match answer {
            Ok(Some(prompt)) => {
                turn.trail_prompt(plugin, &prompt);
                return Ok(Some(prompt));
            }
            Ok(None) => {}
            Err(failure) => skip_or_fail(&turn.scope, context, plugin, failure).await?,
        }
        match under {
            Some(under) => Ok(under),
            None => made(turn, context, behind, base).await,
        }
    })
}

fn is_empty(prompt: &Prompt) -> bool {
    matches!(prompt, Prompt::Text(text) if text.is_empty())
}

/// Nothing to say is one value, in whatever spelling, and parts are an array.
fn checked(answer: Result<Option<Prompt>, Error>) -> wasmtime::Result<Result<Option<Prompt>, Error>> {
    let Ok(Some(Prompt::Parts(parts))) = &answer else { return Ok(answer) };
    match parse_json(parts) {
        Ok(Value::Array(parts)) if parts.is_empty() => Ok(Ok(Some(Prompt::Text(String::new())))),
        Ok(Value::Array(_)) => Ok(answer),
        _ => Err(contract("the parts of its prompt are no JSON array")),
    }
}
