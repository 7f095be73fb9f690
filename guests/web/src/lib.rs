//! The tool `web.fetch`: a web page as Markdown. The host checks each request.

wit_bindgen::generate!({
    inline: "
        package bub:web@0.1.0;
        world web {
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

mod address;
mod arguments;
mod bounds;
mod failure;
mod fetch;
mod markdown;
mod page;
mod prune;
mod request;
mod specs;

use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};
use serde_json::Value;

struct Web;

impl exports::bub::tools::tools::Guest for Web {
    fn list_tools() -> Vec<ToolSpec> {
        vec![specs::fetch()]
    }

    fn call_tool(_turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        match name.as_str() {
            "web.fetch" => Ok(Value::from(fetch::fetch(arguments::parse(&name, &arguments)?)?).to_string()),
            other => Err(Error::new(ErrorKind::NotFound, format!("there is no tool `{other}` here"))),
        }
    }
}

impl Error {
    pub fn new(kind: ErrorKind, message: String) -> Error {
        Error { kind, message, details: None }
    }

    pub fn invalid(message: String) -> Error {
        Error::new(ErrorKind::InvalidInput, message)
    }
}

export!(Web);
