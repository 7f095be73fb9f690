//! Answers every message with its own text. A plugin is this much: copy the directory and change it.

wit_bindgen::generate!({
    // What this plugin implements. It imports nothing but what the hook itself brings along.
    inline: "
        package my:echo@0.1.0;
        world echo {
            export bub:hooks/run-model@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// What this plugin says of itself: the host reads it without running anything.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

use exports::bub::hooks::run_model::{Error, Guest, Prompt, Turn};

struct Echo;

impl Guest for Echo {
    /// `Ok(Some(text))` is the answer, `Ok(None)` leaves it to the next plugin, `Err` ends the turn.
    fn run_model(turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        // The prompt is what `build-prompt` made of the message: sender and date stand in front. The
        // message itself is what the person wrote.
        Ok(Some(format!("[echo] {}", turn.message().content)))
    }
}

export!(Echo);
