//! Memory: a section of the tape with long-term memory and daily notes.
//!
//! Each session has a section on its own tape, and its workspace one on the tape that all sessions share. A change
//! writes the whole section under the next version.

wit_bindgen::generate!({
    inline: "
        package bub:memory@0.1.0;
        world memory {
            import bub:plugin/config@0.1.0;
            import bub:plugin/log@0.1.0;
            import bub:tape/tape@0.1.0;
            import bub:turn/turn@0.1.0;
            export bub:hooks/system-prompt@0.1.0;
            export bub:hooks/before-reset@0.1.0;
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

mod arguments;
mod block;
mod change;
mod day;
mod export;
mod memory;
mod prompt;
mod recall;
mod scope;
mod snapshot;
mod specs;
mod tools;
mod zone;

use bub::tape::entries::{Draft, Entry};
use bub::types::types::{CutOrder, Error, ErrorKind, Prompt, SystemPart};
use exports::bub::hooks::before_reset::{self, Attachment};
use exports::bub::hooks::system_prompt;
use exports::bub::tools::tools::{ToolSpec, Turn};

/// The attachment of an archive.
const COPY: &str = "export.md";

struct Memory;

impl system_prompt::Guest for Memory {
    fn system_prompt(turn: Turn, _prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        Ok(prompt::of(&turn))
    }
}

impl before_reset::Guest for Memory {
    /// A reset without an archive discards everything, so there is no copy either.
    fn before_reset(turn: Turn, archive: bool) -> Result<Vec<Attachment>, Error> {
        if !archive {
            return Ok(Vec::new());
        }
        let zone = memory::read(&turn, scope::Scope::Session)?;
        let text = zone.filter(|zone| !zone.is_empty()).map(|zone| export::one(scope::Scope::Session, &zone));
        Ok(text.map(|text| Attachment { name: COPY.to_owned(), text }).into_iter().collect())
    }
}

impl exports::bub::tools::tools::Guest for Memory {
    fn list_tools() -> Vec<ToolSpec> {
        specs::all()
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        tools::call(&turn, &name, &arguments).map(|text| serde_json::Value::from(text).to_string())
    }
}

fn error(kind: ErrorKind, message: impl Into<String>) -> Error {
    Error { kind, message: message.into(), details: None }
}

export!(Memory);
