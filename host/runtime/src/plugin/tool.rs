//! A tool, as its plugin described it.

use super::schema::{self, Schema};
use bub_types::{Effect, ToolSpec};
use serde_json::Value;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Tools that one plugin may have.
const MAX_TOOLS: usize = 128;

/// The longest name of a tool, in bytes: what providers take.
pub(super) const MAX_NAME: usize = 64;

/// The longest description of a tool and its parameters, in bytes. Both stand in every request to a model.
const MAX_DESCRIPTION: usize = 16 << 10;
const MAX_PARAMETERS: usize = 64 << 10;

/// A tool with its schema, which is made ready when it is called for the first time.
pub struct Tool {
    spec: Arc<ToolSpec>,
    offer: Arc<Offer>,
    schema: OnceLock<Result<Schema, String>>,
}

impl Tool {
    /// A tool of that description.
    ///
    /// # Errors
    ///
    /// A part of the description is not accepted. The error says which.
    pub fn new(spec: ToolSpec) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let shown = bub_types::text::escaped(&spec.name, MAX_NAME);
        if spec.name.is_empty() || spec.name.len() > MAX_NAME || !spec.name.chars().all(is_plain) {
            return Err(format!(
                "its tool `{shown}` has no name of at most {MAX_NAME} letters, digits, `_`, `-` and `.`"
            ));
        }
        if spec.description.len() > MAX_DESCRIPTION {
            return Err(format!("the description of its tool `{shown}` has more than {} KiB", MAX_DESCRIPTION >> 10));
        }
        let wrong = |what: String| format!("the parameters of its tool `{shown}` are {what}");
        let parameters = super::parse_json(&spec.parameters).map_err(wrong)?;
        if spec.parameters.len() > MAX_PARAMETERS {
            return Err(wrong(format!("more than {} KiB", MAX_PARAMETERS >> 10)));
        }
        let is_object = parameters.get("type").is_none_or(|kind| kind == "object");
        if !parameters.is_object() || !is_object {
            return Err(wrong("no JSON Schema of an object".to_owned()));
        }
        schema::look(&parameters).map_err(wrong)?;
        let offer = Arc::new(Offer::new(&spec).map_err(wrong)?);
        Ok(Self { spec: Arc::new(spec), offer, schema: OnceLock::new() })
    }

    /// The description that its plugin gives.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// The offer of it to a model.
    pub fn offer(&self) -> &Arc<Offer> {
        &self.offer
    }

    /// The name of its effect, for people.
    pub fn effect_name(&self) -> &'static str {
        effect_name(self.spec.effect)
    }

    /// Whether the arguments match the schema. The error is worded so that a model can act on it.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        let schema = self.schema.get_or_init(|| Schema::new(super::parse_json(&self.spec.parameters)?));
        match schema {
            Ok(schema) => schema.check(arguments).map_err(|told| format!("do not fit: {told}")),
            Err(error) => Err(format!("cannot be checked, because the tool's own schema is wrong: {error}")),
        }
    }
}

/// An effect, for people.
pub fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Send => "send",
        Effect::Run => "run",
    }
}

/// A tool as a model is told of it, and what that weighs: each request that offers it asks.
pub struct Offer {
    /// The tool as models see it.
    pub spec: Arc<bub_model::ToolSpec>,
    /// Tokens, by estimate.
    pub weight: u64,
}

impl Offer {
    /// The offer of a tool, from a plugin's description of it.
    ///
    /// # Errors
    ///
    /// The parameters are not a JSON object. The error says what they are instead.
    pub fn new(spec: &ToolSpec) -> Result<Self, String> {
        let parameters = super::json_object(&spec.parameters)?;
        let weight = bub_estimate::chat::tool(&spec.name, &spec.description, &spec.parameters);
        let spec = bub_model::ToolSpec::new(super::model_name(&spec.name), spec.description.clone(), parameters);
        Ok(Self { spec: Arc::new(spec), weight })
    }
}

/// The tools that a plugin lists.
///
/// # Errors
///
/// There are too many, or one of them is not taken.
pub(super) fn accept(listed: Vec<ToolSpec>) -> Result<Vec<Tool>, String> {
    if listed.len() > MAX_TOOLS {
        return Err(format!("it has {} tools; at most {MAX_TOOLS} are taken", listed.len()));
    }
    accept_all(listed)
}

/// The same for tools that the host has counted.
///
/// # Errors
///
/// One of them is not taken.
pub(super) fn accept_all(listed: Vec<ToolSpec>) -> Result<Vec<Tool>, String> {
    listed.into_iter().map(Tool::new).collect()
}

/// Whether a value is what a schema says.
///
/// # Errors
///
/// The value does not match, or the schema is invalid. The error describes the problem.
pub(super) fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = Schema::new(schema.clone()).map_err(|error| format!("the plugin's own schema is wrong: {error}"))?;
    schema.check(value)
}

impl Deref for Tool {
    type Target = ToolSpec;

    fn deref(&self) -> &ToolSpec {
        &self.spec
    }
}
