//! `bub:turn/stages`: what an agent loop asks the other plugins for, so that it can be a guest like any other.

use super::turn::TurnHandle;
use super::view::View;
use crate::hooks;
use crate::plugin::bindings::stages::Host;
use crate::plugin::bindings::{Error, ModelOptions, Prompt};
use crate::plugin::store::State;
use crate::plugin::{check_json, deeper};
use crate::tape::json;
use crate::turn::Turn;
use std::borrow::Cow;
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::Resource;

impl Host for State {
    async fn system_prompt(&mut self, turn: Resource<TurnHandle>, prompt: Prompt) -> Result<Result<String, Error>> {
        let (turn, depth) = match self.enter(&turn)? {
            Ok(entered) => entered,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(hooks::system_prompt(&turn, depth, &prompt).await.map_err(|failure| failure.to_error()))
    }

    async fn messages(
        &mut self,
        turn: Resource<TurnHandle>,
        prompt: Prompt,
        system_prompt: String,
        new: Vec<String>,
        model: Option<String>,
    ) -> Result<Result<Vec<String>, Error>> {
        let (turn, depth) = match self.enter(&turn)? {
            Ok(entered) => entered,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for message in &new {
            if let Err(reason) = check_json(message) {
                return Ok(Err(Error::invalid(format!("a new message is {reason}"))));
            }
        }
        let model = self.model_of(&turn, model);
        Ok(messages(&turn, depth, &prompt, &system_prompt, new, &model, None).await)
    }

    async fn steering(&mut self, turn: Resource<TurnHandle>) -> Result<Result<Vec<Prompt>, Error>> {
        let turn = match self.enter(&turn)? {
            Ok((turn, _)) => turn,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(turn.steering().await.map_err(|failure| failure.to_error()))
    }

    async fn continue_prompt(
        &mut self,
        turn: Resource<TurnHandle>,
        prompt: Prompt,
    ) -> Result<Result<Option<String>, Error>> {
        let (turn, depth) = match self.enter(&turn)? {
            Ok(entered) => entered,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(hooks::continue_prompt(&turn, depth, &prompt).await.map_err(|failure| failure.to_error()))
    }

    async fn model_options(&mut self, turn: Resource<TurnHandle>) -> Result<Result<ModelOptions, Error>> {
        let (turn, depth) = match self.enter(&turn)? {
            Ok(entered) => entered,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(Ok(hooks::model_options(&turn, depth).await))
    }
}

impl State {
    /// The turn and the depth of a call that other plugins answer.
    fn enter(&self, turn: &Resource<TurnHandle>) -> Result<Result<(Arc<Turn>, u32), Error>> {
        let turn = self.turn_of(turn)?;
        Ok(self.granted("agent").and_then(|()| deeper(self.depth, self.plugin.limits.depth)).map(|depth| (turn, depth)))
    }

    /// The model that is asked when a call names none: the session's, or the configured one.
    pub(super) fn model_of(&self, turn: &Turn, named: Option<String>) -> String {
        let session = || turn.get("model").and_then(|model| model.as_str().map(str::to_owned));
        named.or_else(session).unwrap_or_else(|| self.host.config.model.model.clone())
    }
}

/// The messages of the next model call: system prompt, `before`, history, the new ones, `after`. `selector` names the
/// plugin that selects, in place of the one in charge.
pub(crate) async fn messages(
    turn: &Arc<Turn>,
    depth: u32,
    prompt: &Prompt,
    system_prompt: &str,
    new: Vec<String>,
    model: &str,
    selector: Option<&str>,
) -> Result<Vec<String>, Error> {
    let view = View::new(turn, prompt, system_prompt, model).await?;
    let selected = hooks::select(turn, depth, &view, selector).await.map_err(|failure| failure.to_error())?;
    let selection = match selected {
        Some(selection) => selection,
        None => view.all(),
    };
    if let Some(notes) = &selection.notes {
        turn.note("context.selected", notes).await?;
    }
    let system_prompt = selection.system_prompt.as_deref().unwrap_or(system_prompt);
    let system = (!system_prompt.is_empty())
        .then(|| format!(r#"{{"role": "system", "content": {}}}"#, json::quote(system_prompt)));
    let marked = |message: String| match turn.calls.media.put_away(&message) {
        Cow::Borrowed(_) => message,
        Cow::Owned(message) => message,
    };
    let earlier = selection.before.into_iter().chain(selection.history).map(marked);
    Ok(system.into_iter().chain(earlier).chain(new).chain(selection.after).collect())
}
