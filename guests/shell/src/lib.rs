//! The tools `bash`, `bash.output` and `bash.kill`: commands in a shell of the machine, which the host starts and ends.

wit_bindgen::generate!({
    inline: "
        package bub:shell@0.1.0;
        world shell {
            import bub:process/process@0.1.0;
            import bub:turn/turn@0.1.0;
            export bub:tools/tools@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// What this plugin says of itself: the host reads it without running anything.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

mod arguments;
mod report;
mod run;
mod specs;
mod watch;

use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};
use serde_json::Value;

struct Shell;

impl exports::bub::tools::tools::Guest for Shell {
    fn list_tools() -> Vec<ToolSpec> {
        specs::all()
    }

    fn call_tool(_turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let text = match name.as_str() {
            "bash" => run::run(&arguments::parse(&name, &arguments)?)?,
            "bash.output" => watch::output(&arguments::parse(&name, &arguments)?)?,
            "bash.kill" => watch::kill(&arguments::parse(&name, &arguments)?)?,
            other => return Err(Error::new(ErrorKind::NotFound, format!("there is no tool `{other}` here"))),
        };
        Ok(Value::from(text).to_string())
    }
}

impl Error {
    pub fn new(kind: ErrorKind, message: String) -> Error {
        Error { kind, message, details: None }
    }
}

export!(Shell);
