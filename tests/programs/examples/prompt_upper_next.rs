//! `prompt_upper` with one changed line: what ends in a 7 is left as it is.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Upper;

impl exports::bub::hooks::build_prompt::Guest for Upper {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        let content = turn.message().content;
        Ok(Some(Prompt::Text(if content.ends_with('7') { content } else { content.to_uppercase() })))
    }
}

export!(Upper);
