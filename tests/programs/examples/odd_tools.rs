//! Tools that a host must be careful with: `again` calls itself, `for.people` is not for models, `big` answers with
//! 15 MiB, `plain` with little, `exact` with the arguments that it was called with, which its schema says.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/tools", generate_all });

use bub::tools::schema::{Effect, ToolSpec};
use bub::tools::toolbox;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ToolCall};
use serde_json::{Value, json};

struct OddTools;

const EXACT: &str = r##"{"type": "object", "required": ["count"], "properties": {
    "count": {"type": "integer", "minimum": 1},
    "unit": {"type": "string", "default": "tokens"},
    "list": {"$ref": "#/$defs/list"},
    "closed": {"type": "object", "additionalProperties": false}
}, "$defs": {"list": {"type": "array", "items": {"enum": ["a", "b"]}}}}"##;

impl exports::bub::tools::tools::Guest for OddTools {
    fn list_tools() -> Vec<ToolSpec> {
        let exact = ToolSpec { parameters: EXACT.to_owned(), ..tool("exact", true) };
        vec![tool("again", true), tool("for.people", false), tool("big", true), tool("plain", true), exact]
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let answer = match name.as_str() {
            "again" => again(&turn),
            "big" => json!("x".repeat(15 << 20)),
            "exact" => json!(arguments),
            other => json!(format!("`{other}` was called")),
        };
        Ok(answer.to_string())
    }
}

/// How deep it went, and what stopped it.
fn again(turn: &Turn) -> Value {
    let call = ToolCall { id: None, name: "again".to_owned(), arguments: "{}".to_owned() };
    match toolbox::call_tools(turn, &[call]).map(|mut results| results.pop()) {
        Ok(Some(Ok(deeper))) => {
            let deeper: Value = serde_json::from_str(&deeper).unwrap_or_default();
            json!({ "calls": deeper["calls"].as_u64().unwrap_or(0) + 1, "stopped": deeper["stopped"] })
        }
        Ok(Some(Err(error))) | Err(error) => {
            json!({ "calls": 1, "stopped": format!("{:?}: {}", error.kind, error.message) })
        }
        Ok(None) => json!({ "calls": 1, "stopped": "no result" }),
    }
}

fn tool(name: &str, for_model: bool) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "A tool of the tests.".to_owned(),
        parameters: r#"{"type": "object", "properties": {}}"#.to_owned(),
        for_model,
        effect: Effect::Read,
        reads_outside: false,
    }
}

export!(OddTools);
