//! Tools that change the tape.

use crate::bub::tape::tape::Tape;
use crate::bub::types::types::Error;
use serde_json::{Value, json};

/// The first anchor of every tape.
const SESSION_START: &str = "session/start";

pub fn handoff(tape: &Tape, arguments: &Value) -> Result<String, Error> {
    let text = |key: &str, unset: &str| arguments.get(key).and_then(Value::as_str).unwrap_or(unset).to_owned();
    let name = text("name", "handoff");
    let state = json!({ "summary": text("summary", "") });
    tape.handoff(&name, Some(&state.to_string()))?;
    Ok(format!("anchor added: {name}"))
}

pub fn reset(tape: &Tape, arguments: &Value) -> Result<String, Error> {
    let archive = arguments.get("archive").and_then(Value::as_bool).unwrap_or(false);
    let archived = tape.reset(archive)?;
    let mut state = json!({ "owner": "human" });
    if let Some(archived) = &archived {
        state["archived"] = archived.as_str().into();
    }
    tape.handoff(SESSION_START, Some(&state.to_string()))?;
    Ok(match archived {
        Some(archived) => format!("Archived: {archived}"),
        None => "ok".to_owned(),
    })
}
