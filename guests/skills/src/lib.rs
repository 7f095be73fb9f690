//! Skills: directories with a `SKILL.md` that describes how to do a kind of task. The system prompt lists them, and the
//! tool `skill` returns one.

wit_bindgen::generate!({
    inline: "
        package bub:skills@0.1.0;
        world skills {
            import bub:plugin/config@0.1.0;
            import bub:plugin/log@0.1.0;
            export bub:hooks/system-prompt@0.1.0;
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

mod block;
mod config;
mod discover;
mod frontmatter;
mod hints;
mod offered;
#[cfg(test)]
mod recorded;
mod roots;
mod template;
mod tool;

use bub::types::types::{CutOrder, Error, ErrorKind, Prompt, SystemPart};
use exports::bub::hooks::system_prompt;
use exports::bub::tools::tools::{self, ToolSpec, Turn};

struct Skills;

impl system_prompt::Guest for Skills {
    fn system_prompt(turn: Turn, prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        let skills = offered::or_none(&turn);
        let part = |text| SystemPart { name: "skills".to_owned(), text, cut: CutOrder::Normal };
        Ok(block::of(&skills, &hints::text(&prompt)).map(part).into_iter().collect())
    }
}

impl tools::Guest for Skills {
    fn list_tools() -> Vec<ToolSpec> {
        vec![tool::spec()]
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        if name != tool::NAME {
            let message = format!("there is no tool `{name}` here");
            return Err(Error { kind: ErrorKind::NotFound, message, details: None });
        }
        tool::call(&offered::of(&turn)?, &arguments)
    }
}

export!(Skills);
