//! `bub:turn/stages`: what an agent loop asks the other plugins for, so that it can be a guest like any other.

use crate::guest::State;
use crate::guest::bindings::stages::{Host, SelectorList};
use crate::guest::handles::TurnHandle;
use crate::guest::selection::{Selected, Selection};
use crate::guest::view::{About, View};
use crate::hooks;
use crate::imports::trail;
use crate::plugin::check_json;
use crate::turn::{Turn, by_plugin};
use bub_permissions::Grant;
use bub_tape::{Lookup, json};
use bub_types::ToolSpec;
use bub_types::{Error, ModelOptions, Prompt};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::Resource;

impl Host for State {
    async fn system_prompt(&mut self, turn: Resource<TurnHandle>, prompt: Prompt) -> Result<Result<String, Error>> {
        let (turn, depth) = match self.enter(&turn)? {
            Ok(entered) => entered,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let told = hooks::system_prompt(&turn, depth, &prompt).await;
        Ok(told.map(|told| told.text.to_string()).map_err(|failure| failure.to_user_error()))
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
        self.has_read = true;
        for message in &new {
            if let Err(reason) = check_json(message) {
                return Ok(Err(Error::invalid(format!("a new message is {reason}"))));
            }
        }
        let model = self.model_of(&turn, model);
        let tools = self.usable(&turn);
        let system = turn.system_prompt_parts(&system_prompt);
        let about = About { prompt, system, model, new_messages: new, tools };
        let request = match request(&turn, depth, about, None).await {
            Ok(request) => request,
            Err(error) => return Ok(Err(error)),
        };
        if !turn.keeps_trail() {
            return Ok(Ok(request.into_messages(&turn)));
        }
        let agent = by_plugin(&self.plugin, self.call.name());
        Ok(match trail::context(&turn, request, Some(&agent)).await {
            Ok((messages, context)) => {
                turn.trail_context(&self.plugin.name, context);
                Ok(messages)
            }
            Err(error) => Err(error.into()),
        })
    }

    async fn selectors(&mut self, turn: Resource<TurnHandle>) -> Result<Result<SelectorList, Error>> {
        let turn = match self.enter(&turn)? {
            Ok((turn, _)) => turn,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let choice = match turn.current_selector().await {
            Ok(choice) => choice,
            Err(error) => return Ok(Err(error.into())),
        };
        let names = hooks::selectors(&turn.scope).rev().map(str::to_owned).collect();
        let hooks::ActiveSelector { name, why } = hooks::active_selector(&turn.scope, choice.as_ref());
        Ok(Ok(SelectorList { names, active: name, why }))
    }

    async fn steering(&mut self, turn: Resource<TurnHandle>) -> Result<Result<Vec<Prompt>, Error>> {
        let turn = match self.enter(&turn)? {
            Ok((turn, _)) => turn,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(turn.steering().await.map_err(|failure| failure.to_user_error()))
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
        Ok(hooks::continue_prompt(&turn, depth, &prompt).await.map_err(|failure| failure.to_user_error()))
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
        Ok(self.granted(&Grant::AGENT).and_then(|()| self.check_depth()).map(|depth| (turn, depth)))
    }

    /// The tools of a turn that are for models, and which the plugin may call.
    fn usable(&self, turn: &Turn) -> Vec<Arc<ToolSpec>> {
        let may_use = self.may_use();
        offered(turn).filter(|tool| may_use(tool)).collect()
    }

    /// The model that is asked when a call names none: the session's, or the configured one.
    pub(super) fn model_of(&self, turn: &Turn, named: Option<String>) -> String {
        let session = || turn.get("model").and_then(|model| model.as_str().map(str::to_owned));
        named.or_else(session).unwrap_or_else(|| self.host.config.model.model.clone())
    }
}

/// The key of the turn's state in which an agent loop names the tools that it offers to its model.
const OFFERED: &str = "offered_tools";

/// The tools of a turn that are for models: those that the agent loop offers, or all of them if it does not say.
pub fn offered(turn: &Turn) -> impl Iterator<Item = Arc<ToolSpec>> {
    let named = turn.get(OFFERED).and_then(|names| names.as_array().cloned());
    let named = named.map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<HashSet<_>>());
    let is_named = move |tool: &ToolSpec| named.as_ref().is_none_or(|names| names.contains(&tool.name));
    let tools = turn.scope.plugins.iter().flat_map(|plugin| &plugin.tools);
    let tools = tools.filter(|tool| tool.for_model && turn.has_tool(&tool.name)).map(|tool| tool.spec().clone());
    tools.filter(move |tool| is_named(tool))
}

/// The next model call, as far as its messages go.
pub struct Request {
    /// The view that was selected from.
    pub view: View,
    /// The selection, and the selector that made it.
    pub selected: Selected,
}

impl Request {
    /// System prompt, `before`, history, the new ones, `after`, each a JSON object.
    pub fn into_messages(self, turn: &Turn) -> Vec<String> {
        let marked = |message: String| match turn.scope.media.extract(&message) {
            Cow::Borrowed(_) => message,
            Cow::Owned(message) => message,
        };
        let system = self.system();
        let Selection { before, history, new_messages, after, .. } = self.selected.selection;
        let new_messages = new_messages.unwrap_or_else(|| self.view.about().new_messages.clone());
        let earlier = before.into_iter().chain(history).map(marked);
        system.into_iter().chain(earlier).chain(new_messages).chain(after).collect()
    }

    /// The system prompt as a message; none where it is empty.
    pub fn system(&self) -> Option<String> {
        self.has_system().then(|| format!(r#"{{"role": "system", "content": {}}}"#, json::quote(self.system_text())))
    }

    /// Whether there is a system prompt.
    pub fn has_system(&self) -> bool {
        !self.system_text().is_empty()
    }

    fn system_text(&self) -> &str {
        self.selected.selection.system_prompt.as_deref().unwrap_or(&self.view.about().system.text)
    }
}

/// Lets the selector in charge select, or the plugin that `named` names, and writes its notes down.
pub async fn request(turn: &Arc<Turn>, depth: u32, about: About, named: Option<&str>) -> Result<Request, Error> {
    let view = View::new(turn, about).await?;
    let selected = hooks::select(turn, depth, &view, named).await.map_err(|failure| failure.to_user_error())?;
    if let Some(notes) = &selected.selection.notes {
        // The record names the selector beside its decision.
        let digest = turn.scope.plugins.iter().find(|plugin| plugin.name == selected.by).map(|plugin| &plugin.digest);
        let mut said = serde_json::json!({ "selector": selected.by, "digest": digest });
        said.as_object_mut().into_iter().for_each(|said| said.extend(notes.clone()));
        turn.append_event("context.selected", &said).await?;
        note_cuts(turn, &said).await?;
    }
    if named.is_none() {
        hooks::shadow(turn, depth, &view, &selected);
    }
    Ok(Request { view, selected })
}

/// The event that says which parts of the system prompt were shortened.
const CUT: &str = "context.cut";

/// Writes down what was cut of the system prompt, unless the turn has said of these parts that they are cut.
async fn note_cuts(turn: &Arc<Turn>, notes: &serde_json::Value) -> Result<(), Error> {
    let cuts = notes.get("cuts").filter(|cuts| cuts.as_array().is_some_and(|cuts| !cuts.is_empty()));
    let Some(cuts) = cuts else { return Ok(()) };
    let newest = turn.tape().await?.newest(&Lookup::event(CUT)).await?;
    let said = newest.filter(|newest| newest.id > turn.began()).and_then(|newest| {
        serde_json::from_str::<serde_json::Value>(json::get(json::get(&newest.payload, "data")?, "cuts")?).ok()
    });
    let said = parts(said.as_ref());
    if parts(Some(cuts)).iter().any(|part| !said.contains(part)) {
        turn.append_event(CUT, &serde_json::json!({ "selector": notes["selector"], "cuts": cuts })).await?;
    }
    Ok(())
}

/// The parts that a list of cuts names. One that names none counts as one without a name.
fn parts(cuts: Option<&serde_json::Value>) -> Vec<String> {
    let cuts = cuts.and_then(serde_json::Value::as_array).into_iter().flatten();
    cuts.map(|cut| cut["part"].as_str().unwrap_or_default().to_owned()).collect()
}
