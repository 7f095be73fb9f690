//! Exports `build-prompt` of version 0.2.0, which is on trial: the prompt that the others make, signed.

wit_bindgen::generate!({ path: ["../../wit", "../../wit/trial"], world: "bub:hooks/trial@0.2.0", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Trial;

impl exports::bub::hooks0_2_0::build_prompt::Guest for Trial {
    fn build_prompt(turn: Turn, made: Prompt) -> Result<Option<Prompt>, Error> {
        match made {
            Prompt::Text(made) if !turn.message().content.contains("unsigned") => {
                Ok(Some(Prompt::Text(format!("{made}, says {}", turn.message().channel))))
            }
            _ => Ok(None),
        }
    }
}

export!(Trial);
