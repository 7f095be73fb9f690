//! Never comes back when it is asked for a prompt: only a limit of the host ends the call.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Spin;

impl exports::bub::hooks::build_prompt::Guest for Spin {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        let mut turns: u64 = 0;
        loop {
            // Without this the optimiser may fold the loop into something that is no work at all.
            turns = std::hint::black_box(turns.wrapping_add(1));
        }
    }
}

export!(Spin);
