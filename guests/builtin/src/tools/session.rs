//! Choices of a session that override the configuration: events on its tape.

use super::choice;
use crate::{AGENT, APPEND, TAPE};
use bub_guest::agent::{ModelChoice, ModelOptions, SelectorList};
use bub_guest::tape::{Draft, Query};
use bub_guest::{Error, Result, Schema, Turn, tool};
use serde::Deserialize;
use serde_json::{Value, json};

/// The events.
const MODEL: &str = "model_switch";
const EFFORT: &str = "reasoning_effort_switch";
const SELECTOR: &str = "selector_switch";
const NAME: &str = "session.name";

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 100;

/// Removes the name.
const NO_NAME: &str = "none";

/// Removes the session's own choice.
const DEFAULT: &str = "default";

#[derive(Deserialize, Schema)]
pub struct Model {
    /// `provider:model` [default: list them].
    #[serde(default)]
    #[schema(with = String)]
    model_id: Option<String>,
}

#[derive(Deserialize, Schema)]
pub struct Selector {
    /// A plugin; `simple`: nothing of earlier turns; `default`: as it is configured [default: list them].
    #[serde(default)]
    #[schema(with = String)]
    name: Option<String>,
}

#[derive(Deserialize, Schema)]
pub struct Effort {
    /// `minimal`, `low`, `medium`, `high`, `xhigh` or `max`, as far as the model knows them; `none` leaves it to the model.
    reasoning_effort: String,
}

#[derive(Deserialize, Schema)]
pub struct Name {
    /// At most 100 characters; `none` takes the name away [default: say it].
    #[serde(default)]
    #[schema(with = String)]
    name: Option<String>,
}

/// The session's model, if it has chosen one.
pub fn chosen_model(turn: &Turn) -> Result<Option<String>> {
    newest(turn, MODEL, "model")
}

/// The session's effort, if it has chosen one.
pub fn chosen_effort(turn: &Turn) -> Result<Option<String>> {
    newest(turn, EFFORT, "reasoning_effort")
}

/// Stop what this session has running.
#[tool(effect = read, for_people)]
pub fn quit() -> Result<&'static str> {
    // The host ends it when it runs the command.
    Ok("Session tasks stopped.")
}

/// Ask another model in this session, from the next turn on. Without one, the models are listed.
#[tool(effect = write, for_people)]
pub fn model(turn: &Turn, Model { model_id }: Model) -> Result<String> {
    let offered = AGENT.model_options(turn)?;
    let Some(model) = model_id else {
        return Ok(listed(&offered, chosen_model(turn)?));
    };
    let model = word("model_id", &model)?;
    let remark = choice::check_model(model, &choice::providers(), &offered).map_err(Error::invalid)?;
    record(turn, MODEL, &json!({ "model": model }))?;
    Ok(format!("Session model set to {model} (applies from the next turn).{remark}"))
}

/// Let another plugin select what of this session a model is told. Without one, they are listed.
#[tool(effect = write, for_people)]
pub fn selector(turn: &Turn, Selector { name }: Selector) -> Result<String> {
    let SelectorList { names: selectors, active, why } = AGENT.selectors(turn)?;
    let Some(name) = name else {
        let mark = |name: &String| if active == *name { '*' } else { ' ' };
        let lines: String = selectors.iter().map(|name| format!("{} {name}\n", mark(name))).collect();
        return Ok(format!(
            "{lines}Active: {active} ({why}).\n\
             `,selector NAME` lets another one select in this session, `,selector default` what is configured."
        ));
    };
    let name = word("name", &name)?;
    if name != DEFAULT && !selectors.iter().any(|selector| selector == name) {
        return Err(Error::invalid(format!("no plugin `{name}` selects; there is: {}", selectors.join(" "))));
    }
    record(turn, SELECTOR, &json!({ "selector": name }))?;
    Ok(format!("Session selector set to {name} (applies from the next turn)."))
}

/// Let the model think more or less in this session, from the next turn on.
#[tool(effect = write, for_people)]
pub fn reasoning_effort(turn: &Turn, Effort { reasoning_effort }: Effort) -> Result<String> {
    let effort = word("reasoning_effort", &reasoning_effort)?;
    choice::check_effort(effort).map_err(Error::invalid)?;
    record(turn, EFFORT, &json!({ "reasoning_effort": effort }))?;
    Ok(format!("Session reasoning effort set to {effort} (applies from the next turn)."))
}

/// Call this session something, as `bub-wasm sessions` lists it. Without a name, say what it is called.
#[tool(name = "session.name", effect = write, for_people)]
pub fn name(turn: &Turn, Name { name }: Name) -> Result<String> {
    let Some(name) = name else {
        return Ok(match newest(turn, NAME, "name")? {
            Some(name) => format!("This session is called {name}."),
            None => "This session has no name: `,session.name NAME` gives it one.".to_owned(),
        });
    };
    let name = word("name", &name)?;
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("a session's name is one line of at most {MAX_NAME} characters")));
    }
    let name = if name == NO_NAME { "" } else { name };
    record(turn, NAME, &json!({ "name": name }))?;
    Ok(match name.is_empty() {
        true => "This session has no name any more.".to_owned(),
        false => format!("This session is called {name} now."),
    })
}

/// One model per line, with a star for the one of the next turn, which may be unlisted.
fn listed(offered: &ModelOptions, chosen: Option<String>) -> String {
    let current = chosen.or_else(|| offered.current.clone());
    let is_offered = |id: &String| offered.choices.iter().any(|choice| choice.id == *id);
    let further = current.clone().filter(|id| !is_offered(id)).map(|id| ModelChoice { name: id.clone(), id });
    let line = |choice: &ModelChoice| {
        let star = if current.as_ref() == Some(&choice.id) { '*' } else { ' ' };
        let name = if choice.name.is_empty() || choice.name == choice.id {
            String::new()
        } else {
            format!(" ({})", choice.name)
        };
        format!("{star} {}{name}\n", choice.id)
    };
    let lines: String = further.iter().chain(&offered.choices).map(line).collect();
    format!("{lines}`,model provider:model` asks another one in this session.")
}

fn word<'a>(key: &str, given: &'a str) -> Result<&'a str> {
    Some(given.trim())
        .filter(|word| !word.is_empty())
        .ok_or_else(|| Error::invalid(format!("`{key}` must not be empty")))
}

/// Writes an event to the session's tape.
fn record(turn: &Turn, event: &str, data: &Value) -> Result<()> {
    turn.tape(TAPE)?.writer(APPEND).append(&[Draft::event(event, data)]).map(drop)
}

/// The value of `key` in the newest event of that name, found without reading the whole tape.
fn newest(turn: &Turn, event: &str, key: &str) -> Result<Option<String>> {
    let query = Query {
        kinds: vec!["event".to_owned()],
        name: Some(event.to_owned()),
        newest_first: true,
        limit: Some(1),
        ..Query::default()
    };
    let entry = turn.tape(TAPE)?.query(&query)?.next(1)?.pop();
    let value = entry.and_then(|entry| Some(entry.json().get("data")?.get(key)?.as_str()?.to_owned()));
    Ok(value.filter(|value| !value.is_empty() && value != "none"))
}

#[cfg(test)]
mod tests {
    use super::listed;
    use bub_guest::agent::{ModelChoice, ModelOptions};

    fn offered(current: Option<&str>) -> ModelOptions {
        let choice = |(id, name): &(&str, &str)| ModelChoice { id: (*id).to_owned(), name: (*name).to_owned() };
        let choices = [("a:one", "a:one"), ("b:two", "Two"), ("c:three", "")];
        ModelOptions { choices: choices.iter().map(choice).collect(), current: current.map(str::to_owned) }
    }

    #[track_caller]
    fn marks(current: Option<&str>, chosen: Option<&str>, expected: &str) {
        let text = listed(&offered(current), chosen.map(str::to_owned));
        assert_eq!(text, format!("{expected}`,model provider:model` asks another one in this session."));
    }

    #[test]
    fn the_sessions_own_choice_is_marked_before_other_choices() {
        marks(Some("a:one"), None, "* a:one\n  b:two (Two)\n  c:three\n");
        marks(Some("a:one"), Some("b:two"), "  a:one\n* b:two (Two)\n  c:three\n");
        marks(None, None, "  a:one\n  b:two (Two)\n  c:three\n");
    }

    #[test]
    fn an_unlisted_choice_comes_first() {
        marks(Some("a:one"), Some("x:y"), "* x:y\n  a:one\n  b:two (Two)\n  c:three\n");
    }
}
