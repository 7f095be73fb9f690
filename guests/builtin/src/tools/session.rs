//! What a session asks in place of what is configured: events on its tape.

use super::invalid;
use crate::bub::tape::entries::{Query, Start};
use crate::{Error, Turn, json, record};
use serde_json::{Value, json};

const MODEL: &str = "model_switch";
const EFFORT: &str = "reasoning_effort_switch";

/// The model that the session has chosen, if it has.
pub fn chosen_model(turn: &Turn) -> Result<Option<String>, Error> {
    newest(turn, MODEL, "model")
}

/// The effort that the session has chosen, if it has.
pub fn chosen_effort(turn: &Turn) -> Result<Option<String>, Error> {
    newest(turn, EFFORT, "reasoning_effort")
}

pub fn model(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    let model = word(arguments, "model_id")?;
    turn.tape()?.append(&[record::event(MODEL, json!({ "model": model }))])?;
    Ok(format!("Session model set to {model} (applies from the next turn)."))
}

pub fn reasoning_effort(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    let effort = word(arguments, "reasoning_effort")?;
    turn.tape()?.append(&[record::event(EFFORT, json!({ "reasoning_effort": effort }))])?;
    Ok(format!("Session reasoning effort set to {effort} (applies from the next turn)."))
}

fn word(arguments: &Value, key: &str) -> Result<String, Error> {
    let word = arguments.get(key).and_then(Value::as_str).map(str::trim).filter(|word| !word.is_empty());
    word.map(str::to_owned).ok_or_else(|| invalid(format!("`{key}` must not be empty")))
}

/// What the newest event of that name says under `key`. The tape finds it without being read through.
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
