//! The tools that the conformance suite of MCP asks a server for, as far as tools of plugins can be such: text and errors.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/tools", generate_all });

use bub::tools::schema::{Effect, ToolSpec};
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};
use serde_json::{Value, json};

struct Conformant;

impl exports::bub::tools::tools::Guest for Conformant {
    fn list_tools() -> Vec<ToolSpec> {
        let tool = |name: &str, parameters: Value| ToolSpec {
            name: name.to_owned(),
            description: "A tool of the conformance suite.".to_owned(),
            parameters: parameters.to_string(),
            for_model: true,
            effect: Effect::Read,
            reads_outside: false,
        };
        let text = json!({ "type": "string" });
        let address = json!({ "type": "object", "properties": { "street": text, "city": text } });
        vec![
            tool("test.simple_text", json!({ "type": "object" })),
            tool("test.error_handling", json!({ "type": "object" })),
            tool(
                "json.schema_2020_12_tool",
                json!({
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "type": "object",
                    "$defs": { "address": address },
                    "properties": { "name": text, "address": { "$ref": "#/$defs/address" } },
                    "additionalProperties": false,
                }),
            ),
        ]
    }

    fn call_tool(_turn: Turn, name: String, _arguments: String) -> Result<String, Error> {
        match name.as_str() {
            "test.error_handling" => {
                let message = "This tool intentionally returns an error for testing".to_owned();
                Err(Error { kind: ErrorKind::Tool, message, details: None })
            }
            _ => Ok(json!("This is a simple text response for testing.").to_string()),
        }
    }
}

export!(Conformant);
