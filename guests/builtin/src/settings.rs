//! Settings of the loop, from the turn and the configuration.

use crate::bub::plugin::config;
use crate::bub::types::types::{ErrorKind, ModelChoice, ModelOptions};
use crate::tools::session;
use crate::{Error, Turn, json};
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
}

impl Settings {
    /// The turn's own model overrides the session's, which overrides the configured one.
    pub fn of(turn: &Turn) -> Result<Settings, Error> {
        let named = |text: Option<String>| text.map(|text| json::value(&text)).filter(|model| !model.is_null());
        let session = session::chosen_model(turn)?.map(Value::String);
        let model = match named(turn.get("model")).or(session).or_else(|| named(config::get("model"))) {
            Some(Value::String(model)) if !model.trim().is_empty() => model,
            Some(other) => return Err(wrong("model", "the name of a model", &other)),
            None => {
                return Err(config_error("no model is configured: set `BUB_MODEL`".to_owned()));
            }
        };
        let max_tokens = number("max-tokens")?.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let reasoning_effort = session::chosen_effort(turn)?;
        Ok(Settings { model, max_steps: number("max-steps")?, max_tokens, reasoning_effort })
    }
}

/// The configured models, the primary one first. A session's choice is on its tape, which is not accessible without a
/// turn; the tool `model` adds it.
pub fn offered() -> ModelOptions {
    let configured = |key: &str| config::get(key).map(|text| json::value(&text));
    let current = configured("model").and_then(|model| model.as_str().map(str::to_owned));
    let fallback = match configured("fallback-models") {
        Some(Value::Array(models)) => models,
        _ => Vec::new(),
    };
    let fallback = fallback.iter().filter_map(Value::as_str).map(str::to_owned);
    let choice = |id: String| ModelChoice { name: id.clone(), id };
    ModelOptions { choices: current.clone().into_iter().chain(fallback).map(choice).collect(), current }
}

/// A positive whole number, or none.
fn number(key: &str) -> Result<Option<u64>, Error> {
    let Some(value) = config::get(key).map(|text| json::value(&text)).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let number = value.as_u64().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| wrong(key, "a whole number above 0", &value))
}

fn wrong(key: &str, wanted: &str, found: &Value) -> Error {
    config_error(format!("`{key}` must be {wanted}, not `{found}`"))
}

fn config_error(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}
