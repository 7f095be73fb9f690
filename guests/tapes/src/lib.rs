//! The tools `tape.info`, `tape.search`, `tape.handoff`, `tape.anchors` and `tape.reset`.

wit_bindgen::generate!({
    inline: "
        package bub:tapes@0.1.0;
        world tapes {
            import bub:tape/tape@0.1.0;
            import bub:turn/turn@0.1.0;
            export bub:tools/tools@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

mod read;
mod specs;
mod write;

use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};
use serde_json::Value;

struct Tapes;

impl exports::bub::tools::tools::Guest for Tapes {
    fn list_tools() -> Vec<ToolSpec> {
        specs::all()
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let arguments: Value = serde_json::from_str(&arguments).map_err(|error| invalid(error.to_string()))?;
        let tape = turn.tape()?;
        let text = match name.as_str() {
            "tape.info" => read::info(&tape)?,
            "tape.search" => read::search(&tape, &arguments)?,
            "tape.anchors" => read::anchors(&tape)?,
            "tape.handoff" => write::handoff(&tape, &arguments)?,
            "tape.reset" => write::reset(&tape, &arguments)?,
            other => return Err(invalid(format!("there is no tool `{other}` here"))),
        };
        Ok(Value::from(text).to_string())
    }
}

fn invalid(message: String) -> Error {
    Error { kind: ErrorKind::InvalidInput, message, details: None }
}

export!(Tapes);
