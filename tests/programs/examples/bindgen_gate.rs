//! A gate: decides about each tool call before it is made.

wit_bindgen::generate!({
    inline: "
        package my:gate@0.1.0;
        world plugin {
            import bub:plugin/config@0.1.0;
            export bub:hooks/before-tool-call@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

use bub::plugin::config;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind, ToolCall};
use exports::bub::hooks::before_tool_call::{Guest, ToolDecision};
use serde_json::Value;

const MANIFEST: &[u8] = br#"{
  "name": "bindgen-gate",
  "version": "0.1.0",
  "about": "Denies tool calls whose arguments contain a blocked text.",
  "wants": [
    { "grant": "hook:before-tool-call", "why": "to see the arguments of tool calls and deny those that you block" }
  ],
  "config_schema": {
    "type": "object",
    "properties": {
      "blocked": {
        "type": "array",
        "items": { "type": "string" },
        "default": ["rm -rf", "sudo "],
        "description": "What arguments must not contain."
      }
    },
    "additionalProperties": false
  }
}"#;

#[used]
#[unsafe(link_section = "bub:manifest")]
static SECTION: [u8; MANIFEST.len()] = *MANIFEST.first_chunk().unwrap();

struct Plugin;

impl Guest for Plugin {
    /// Called for the calls of models and of people, with the arguments as they were written.
    fn before_tool_call(_turn: Turn, call: ToolCall) -> Result<ToolDecision, Error> {
        let blocked = blocked()?;
        // Models may write invalid JSON: then the text itself is searched.
        let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::String(call.arguments));
        let found = blocked.iter().find(|blocked| contains(&arguments, blocked));
        Ok(match found {
            // The model reads this, and can try something else.
            Some(blocked) => {
                ToolDecision::Deny(format!("`{}` is not called with `{blocked}` in its arguments", call.name))
            }
            None => ToolDecision::Proceed,
        })
    }
}

/// The key `blocked` of the table `[plugins.NAME.config]`.
fn blocked() -> Result<Vec<String>, Error> {
    let Some(text) = config::get("blocked") else {
        return Ok(["rm -rf", "sudo "].map(str::to_owned).to_vec());
    };
    serde_json::from_str(&text).map_err(|error| Error {
        kind: ErrorKind::Config,
        message: format!("`blocked` is not understood: {error}"),
        details: None,
    })
}

/// Whether a text stands in one of the strings, in upper or lower case.
fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.to_lowercase().contains(&text.to_lowercase()),
        Value::Array(values) => values.iter().any(|value| contains(value, text)),
        Value::Object(fields) => fields.values().any(|value| contains(value, text)),
        _ => false,
    }
}

export!(Plugin);
