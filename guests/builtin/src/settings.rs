//! What the loop takes from the turn and from the configuration.

use crate::bub::plugin::config;
use crate::bub::types::types::{ErrorKind, ModelChoice, ModelOptions};
use crate::tools::session;
use crate::{Error, Turn, json};
use serde_json::Value;

pub struct Settings {
    /// `provider:model`.
    pub model: String,
    /// Steps that a turn may take; none: as many as it needs.
    pub max_steps: Option<u64>,
    /// Tokens that one answer may have.
    pub max_tokens: Option<u32>,
    /// How much the model is to think; none: as it likes.
    pub reasoning_effort: Option<String>,
}

impl Settings {
    /// The turn's own model goes before the session's, and that before the configured one.
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

/// The models of the configuration, the one that is asked first in front. What a session has chosen instead stands on
/// its tape, which is not at hand without a turn: the tool `model` puts it in.
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

/// A whole number above 0, or nothing.
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
