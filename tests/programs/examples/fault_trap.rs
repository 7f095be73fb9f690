//! Executes `unreachable` when it is asked for a prompt.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Trap;

impl exports::bub::hooks::build_prompt::Guest for Trap {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        core::arch::wasm32::unreachable()
    }
}

export!(Trap);
