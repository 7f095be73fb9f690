//! Settings of the loop, from the turn and the configuration.

use crate::json;
use crate::tools::session;
use bub_guest::agent::{ModelChoice, ModelOptions};
use bub_guest::{Error, Result, Turn, config};
use serde_json::Value;

pub struct Settings {
    /// `provider:model`.
    pub model: String,
    /// Maximum steps of a turn; `None`: unlimited.
    pub max_steps: Option<u64>,
    /// Maximum tokens of one answer.
    pub max_tokens: Option<u32>,
    /// The reasoning effort; `None`: the model's default.
    pub reasoning_effort: Option<String>,
    /// The share of the context above which tools are deferred, in percent.
    pub tool_budget: u64,
}

impl Settings {
    /// The turn's own model overrides the session's, which overrides the configured one.
    pub fn of(turn: &Turn) -> Result<Settings> {
        let named = |text: Option<String>| text.map(|text| json::value(&text)).filter(|model| !model.is_null());
        let session = session::chosen_model(turn)?.map(Value::String);
        let model = match named(turn.get_json("model")).or(session).or_else(|| named(config::get_json("model"))) {
            Some(Value::String(model)) if !model.trim().is_empty() => model,
            Some(other) => return Err(wrong("model", "the name of a model", &other)),
            None => {
                return Err(Error::config("no model is configured: set `BUB_MODEL`"));
            }
        };
        let max_tokens = number("max-tokens")?.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let reasoning_effort = session::chosen_effort(turn)?;
        let tool_budget = match config::get_json("tool-budget").map(|text| json::value(&text)) {
            None | Some(Value::Null) => 100,
            Some(value) => {
                let percent = value.as_u64().filter(|percent| *percent <= 100);
                percent.ok_or_else(|| wrong("tool_budget", "a whole number from 0 to 100", &value))?
            }
        };
        Ok(Settings { model, max_steps: number("max-steps")?, max_tokens, reasoning_effort, tool_budget })
    }
}

/// The configured models, the primary one first. A session's choice is on its tape, which is not accessible without a
/// turn; the tool `model` adds it.
pub fn offered(_session: String) -> Result<ModelOptions> {
    let configured = |key: &str| config::get_json(key).map(|text| json::value(&text));
    let current = configured("model").and_then(|model| model.as_str().map(str::to_owned));
    let fallback = match configured("fallback-models") {
        Some(Value::Array(models)) => models,
        _ => Vec::new(),
    };
    let fallback = fallback.iter().filter_map(Value::as_str).map(str::to_owned);
    let choice = |id: String| ModelChoice { name: id.clone(), id };
    Ok(ModelOptions { choices: current.clone().into_iter().chain(fallback).map(choice).collect(), current })
}

/// A positive whole number, or none.
fn number(key: &str) -> Result<Option<u64>> {
    let Some(value) = config::get_json(key).map(|text| json::value(&text)).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let number = value.as_u64().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| wrong(key, "a whole number above 0", &value))
}

fn wrong(key: &str, wanted: &str, found: &Value) -> Error {
    Error::config(format!("`{key}` must be {wanted}, not `{found}`"))
}
