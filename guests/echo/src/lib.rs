//! Answers every message with its own text. The minimal plugin: copy the directory and change it.

wit_bindgen::generate!({
    // The implemented hook. There are no imports beyond the hook's own.
    inline: "
        package my:echo@0.1.0;
        world echo {
            export bub:hooks/run-model@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

use exports::bub::hooks::run_model::{Error, Guest, Prompt, Turn};

struct Echo;

impl Guest for Echo {
    /// `Ok(Some(text))` is the answer, `Ok(None)` passes to the next plugin, `Err` ends the turn.
    fn run_model(turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        // The prompt is the output of `build-prompt`, with sender and date before the text. The message is what the
        // sender wrote.
        Ok(Some(format!("[echo] {}", turn.message().content)))
    }
}

export!(Echo);
