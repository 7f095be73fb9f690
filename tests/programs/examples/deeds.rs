//! A tool for each effect, and one that reads another person's text. Each logs its call.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/tools", generate_all });

use bub::plugin::log;
use bub::tools::schema::{Effect, ToolSpec};
use bub::turn::turn::Turn;
use bub::types::types::Error;
use serde_json::{Value, json};

struct Deeds;

impl exports::bub::tools::tools::Guest for Deeds {
    fn list_tools() -> Vec<ToolSpec> {
        let tool = |name: &str, effect, reads_outside| ToolSpec {
            name: format!("deeds.{name}"),
            description: "Says in the log that it was called.".to_owned(),
            parameters: json!({ "type": "object" }).to_string(),
            for_model: true,
            effect,
            reads_outside,
        };
        vec![
            tool("read", Effect::Read, false),
            tool("write", Effect::Write, false),
            tool("send", Effect::Send, false),
            tool("run", Effect::Run, false),
            tool("outside", Effect::Read, true),
        ]
    }

    fn call_tool(_turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_default();
        let line = json!({ "plugin": "deeds", "hook": "call-tool", "name": name, "arguments": arguments });
        log::log(log::Level::Info, &format!("saw:{line}"));
        Ok(json!("done").to_string())
    }
}

export!(Deeds);
