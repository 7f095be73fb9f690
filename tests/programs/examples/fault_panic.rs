//! Panics; the message is what the person who runs the host must get to read.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Panic;

impl exports::bub::hooks::build_prompt::Guest for Panic {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        let answer = 6 * 7;
        panic!("guest says no: {answer}")
    }
}

export!(Panic);
