//! Choices of a session that override the configuration: events on its tape.

use super::{choice, invalid};
use crate::bub::tape::entries::{Query, Start};
use crate::bub::turn::stages::{self, SelectorList};
use crate::bub::types::types::{ModelChoice, ModelOptions};
use crate::{Error, Turn, json, record};
use serde_json::{Value, json};

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

/// The session's model, if it has chosen one.
pub fn chosen_model(turn: &Turn) -> Result<Option<String>, Error> {
    newest(turn, MODEL, "model")
}

/// The session's effort, if it has chosen one.
pub fn chosen_effort(turn: &Turn) -> Result<Option<String>, Error> {
    newest(turn, EFFORT, "reasoning_effort")
}

/// Switches to that model; without one, lists the models.
pub fn model(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    if arguments.get("model_id").is_none_or(Value::is_null) {
        let offered = stages::model_options(turn)?;
        return Ok(listed(&offered, chosen_model(turn)?));
    }
    let model = word(arguments, "model_id")?;
    let offered = stages::model_options(turn)?;
    let remark = choice::check_model(&model, &choice::providers(), &offered).map_err(invalid)?;
    turn.tape()?.append(&[record::event(MODEL, json!({ "model": model }))])?;
    Ok(format!("Session model set to {model} (applies from the next turn).{remark}"))
}

/// Switches to that selector; without one, lists the selectors.
pub fn selector(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    let SelectorList { names: selectors, active, why } = stages::selectors(turn)?;
    if arguments.get("name").is_none_or(Value::is_null) {
        let mark = |name: &String| if active == *name { '*' } else { ' ' };
        let lines: String = selectors.iter().map(|name| format!("{} {name}\n", mark(name))).collect();
        return Ok(format!(
            "{lines}Active: {active} ({why}).\n\
             `,selector NAME` lets another one select in this session, `,selector default` what is configured."
        ));
    }
    let name = word(arguments, "name")?;
    if name != DEFAULT && !selectors.contains(&name) {
        return Err(invalid(format!("no plugin `{name}` selects; there is: {}", selectors.join(" "))));
    }
    turn.tape()?.append(&[record::event(SELECTOR, json!({ "selector": name }))])?;
    Ok(format!("Session selector set to {name} (applies from the next turn)."))
}

pub fn reasoning_effort(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    let effort = word(arguments, "reasoning_effort")?;
    choice::check_effort(&effort).map_err(invalid)?;
    turn.tape()?.append(&[record::event(EFFORT, json!({ "reasoning_effort": effort }))])?;
    Ok(format!("Session reasoning effort set to {effort} (applies from the next turn)."))
}

/// Names the session; without a name, returns the current one.
pub fn name(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    if arguments.get("name").is_none_or(Value::is_null) {
        return Ok(match newest(turn, NAME, "name")? {
            Some(name) => format!("This session is called {name}."),
            None => "This session has no name: `,session.name NAME` gives it one.".to_owned(),
        });
    }
    let name = word(arguments, "name")?;
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(invalid(format!("a session's name is one line of at most {MAX_NAME} characters")));
    }
    let name = if name == NO_NAME { String::new() } else { name };
    turn.tape()?.append(&[record::event(NAME, json!({ "name": name }))])?;
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

fn word(arguments: &Value, key: &str) -> Result<String, Error> {
    let word = arguments.get(key).and_then(Value::as_str).map(str::trim).filter(|word| !word.is_empty());
    word.map(str::to_owned).ok_or_else(|| invalid(format!("`{key}` must not be empty")))
}

/// The value of `key` in the newest event of that name, found without reading the whole tape.
fn newest(turn: &Turn, event: &str, key: &str) -> Result<Option<String>, Error> {
    let query = Query {
        start: Start::First,
        kinds: vec!["event".to_owned()],
        name: Some(event.to_owned()),
        text: None,
        since: None,
        until: None,
        newest_first: true,
        limit: Some(1),
    };
    let entry = turn.tape()?.query(&query)?.next(1)?.pop();
    let value = entry.and_then(|entry| Some(json::value(&entry.payload).get("data")?.get(key)?.as_str()?.to_owned()));
    Ok(value.filter(|value| !value.is_empty() && value != "none"))
}

#[cfg(test)]
mod tests {
    use super::listed;
    use crate::bub::types::types::{ModelChoice, ModelOptions};

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
    fn the_sessions_own_choice_is_marked_before_what_others_say() {
        marks(Some("a:one"), None, "* a:one\n  b:two (Two)\n  c:three\n");
        marks(Some("a:one"), Some("b:two"), "  a:one\n* b:two (Two)\n  c:three\n");
        marks(None, None, "  a:one\n  b:two (Two)\n  c:three\n");
    }

    #[test]
    fn an_unlisted_choice_comes_first() {
        marks(Some("a:one"), Some("x:y"), "* x:y\n  a:one\n  b:two (Two)\n  c:three\n");
    }
}
