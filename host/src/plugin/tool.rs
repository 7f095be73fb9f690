//! A tool, as its plugin described it.

use crate::plugin::bindings::schema::{Effect, ToolSpec};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use std::ops::Deref;
use std::sync::OnceLock;

/// Faults of arguments that are told at once.
const TOLD: usize = 5;

/// A tool with its schema, which is made ready when it is called for the first time.
pub struct Tool {
    spec: ToolSpec,
    schema: OnceLock<Result<Validator, String>>,
}

impl Tool {
    /// A tool of that description.
    ///
    /// # Errors
    ///
    /// Its parameters are no JSON, or not those of an object.
    pub fn new(spec: ToolSpec) -> Result<Self, String> {
        let schema = super::parse_json(&spec.parameters)?;
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        if !schema.is_object() || !is_object {
            return Err("no JSON Schema of an object".to_owned());
        }
        Ok(Self { spec, schema: OnceLock::new() })
    }

    /// What it does, for people.
    pub fn effect_name(&self) -> &'static str {
        match self.spec.effect {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Send => "send",
            Effect::Run => "run",
        }
    }

    /// Whether the arguments are what the schema says. What is wrong with them, in words that a model can act on.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        let schema = self.schema.get_or_init(|| {
            let schema = super::parse_json(&self.spec.parameters)?;
            validator(&schema)
        });
        let schema = match schema {
            Ok(schema) => schema,
            Err(error) => return Err(format!("cannot be checked, because the tool's own schema is wrong: {error}")),
        };
        let told = all_told(schema, arguments);
        if told.is_empty() { Ok(()) } else { Err(format!("do not fit: {told}")) }
    }
}

/// Whether a value is what a schema says.
///
/// # Errors
///
/// What is wrong with it, or with the schema.
pub(super) fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = validator(schema).map_err(|error| format!("the plugin's own schema is wrong: {error}"))?;
    let told = all_told(&schema, value);
    if told.is_empty() { Ok(()) } else { Err(told) }
}

/// Linear time, whatever expression a stranger wrote; and nothing is fetched, because no retriever is built in.
fn validator(schema: &Value) -> Result<Validator, String> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(schema).map_err(|error| error.to_string())
}

fn all_told(schema: &Validator, value: &Value) -> String {
    schema.iter_errors(value).take(TOLD).map(|error| told(&error)).collect::<Vec<_>>().join("; ")
}

fn told(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/');
    if place.is_empty() { error.to_string() } else { format!("`{place}`: {error}") }
}

impl Deref for Tool {
    type Target = ToolSpec;

    fn deref(&self) -> &ToolSpec {
        &self.spec
    }
}
