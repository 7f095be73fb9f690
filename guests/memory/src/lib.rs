//! Memory: a section of the tape with long-term memory and daily notes.
//!
//! Each session has a section on its own tape, and its workspace one on the tape that all sessions share. A change
//! writes the whole section under the next version.

mod block;
mod change;
mod day;
mod export;
mod memory;
mod prompt;
mod recall;
mod scope;
mod snapshot;
mod tools;
mod zone;

use bub_guest::hook::Attachment;
use bub_guest::{Prompt, Result, Schema, SystemPart, Turn};
use scope::Scope;
use serde::Deserialize;

bub_guest::plugin! {
    about: "Keeps what the user wants remembered, as a zone of the tape, and shows it to the model.",
    config: Settings,
    grants: {
        /// to read the session's memory, and to find what was said
        TAPE: TapeRead,
        /// to write memory
        APPEND: TapeAppend,
        /// to share memory between the sessions of a workspace
        WORKSPACE: TapeWorkspace,
    },
    hooks: {
        /// to show the model what is remembered
        system_prompt: show,
        /// to keep a readable copy beside the archive of a tape that is emptied
        before_reset: copy,
    },
    tools: [
        tools::save, tools::add, tools::daily, tools::recall, tools::show, tools::clear, tools::forget, tools::export,
    ],
}

/// The table `[plugins.memory.config]`.
#[derive(Deserialize, Schema)]
struct Settings {
    /// How many days notes are kept.
    #[serde(default = "year")]
    #[schema(minimum = 1, maximum = 36500, default = RETENTION)]
    retention_days: i64,
}

/// Days for which notes are kept, unless configured.
const RETENTION: i64 = 30;

fn year() -> i64 {
    RETENTION
}

/// The attachment of an archive.
const COPY: &str = "export.md";

fn show(turn: &Turn, _prompt: Prompt) -> Result<Vec<SystemPart>> {
    Ok(prompt::of(turn))
}

/// Content that is discarded without an archive must be gone, so there is no copy of it either.
fn copy(turn: &Turn, archive: bool) -> Result<Vec<Attachment>> {
    if !archive {
        return Ok(Vec::new());
    }
    let zone = memory::read(turn, Scope::Session)?;
    let text = zone.filter(|zone| !zone.is_empty()).map(|zone| export::one(Scope::Session, &zone));
    Ok(text.map(|text| Attachment { name: COPY.to_owned(), text }).into_iter().collect())
}
