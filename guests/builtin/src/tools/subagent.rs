//! `subagent`: runs a sub-turn.

use super::invalid;
use crate::bub::turn::subturn::{self, Request};
use crate::{Error, Prompt, Turn};
use serde_json::Value;

pub fn run(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    let prompt = match arguments.get("prompt") {
        Some(Value::String(text)) if !text.trim().is_empty() => Prompt::Text(text.clone()),
        Some(parts @ Value::Array(list)) if !list.is_empty() => Prompt::Parts(parts.to_string()),
        _ => return Err(invalid("`prompt` must say what the agent is to do".to_owned())),
    };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    let list = |key: &str| {
        let list = arguments.get(key)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    subturn::run(
        turn,
        &Request {
            prompt,
            session: text("session"),
            model: text("model"),
            tools: list("allowed_tools"),
            skills: list("allowed_skills"),
        },
    )
}
