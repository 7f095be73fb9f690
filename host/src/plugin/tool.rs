//! A tool, as its plugin described it.

use crate::plugin::bindings::schema::ToolSpec;
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

    /// Whether the arguments are what the schema says. What is wrong with them, in words that a model can act on.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        let schema = self.schema.get_or_init(|| {
            let schema = super::parse_json(&self.spec.parameters)?;
            // Linear time, whatever expression a stranger wrote; and nothing is fetched, because no retriever is built in.
            let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
            options.build(&schema).map_err(|error| error.to_string())
        });
        let schema = match schema {
            Ok(schema) => schema,
            Err(error) => return Err(format!("cannot be checked, because the tool's own schema is wrong: {error}")),
        };
        let told: Vec<String> = schema.iter_errors(arguments).take(TOLD).map(|error| told(&error)).collect();
        if told.is_empty() { Ok(()) } else { Err(format!("do not fit: {}", told.join("; "))) }
    }
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
