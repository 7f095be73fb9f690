//! Skills: directories with a `SKILL.md` that describes how to do a kind of task. The system prompt lists them, and the
//! tool `skill` returns one.

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

use bub_guest::{Prompt, Result, SystemPart, Turn};

bub_guest::plugin! {
    about: "Tells the model which skills there are, and hands them out.",
    grants: {
        /// to read your own skills
        OWN: Directory("~/.agents/skills:ro"),
        /// to read the workspace's skills
        WORKSPACE: Directory("<workspace>/.agents/skills:ro"),
        /// to read the workspace's skills where they used to lie
        LEGACY: Directory("<workspace>/.agent/skills:ro"),
    },
    hooks: {
        /// to list the skills in the system prompt
        system_prompt: list,
    },
    tools: [tool::skill],
}

fn list(turn: &Turn, prompt: Prompt) -> Result<Vec<SystemPart>> {
    let skills = offered::or_none(turn);
    let part = |text| SystemPart::new("skills", text);
    Ok(block::of(&skills, &hints::text(&prompt)).map(part).into_iter().collect())
}
