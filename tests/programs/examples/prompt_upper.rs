//! Exports `build-prompt` and nothing else: the prompt is what the person said, shouted.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Upper;

impl exports::bub::hooks::build_prompt::Guest for Upper {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        Ok(Some(Prompt::Text(turn.message().content.to_uppercase())))
    }
}

export!(Upper);
