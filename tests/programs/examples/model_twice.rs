//! Exports `run-model` and `run-model-stream`. Which of them is the plugin's answer? The host must not guess.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/model-twice", generate_all });

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Twice;

impl exports::bub::hooks::run_model::Guest for Twice {
    fn run_model(_turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        Ok(Some("the whole text at once".into()))
    }
}

impl exports::bub::hooks::run_model_stream::Guest for Twice {
    fn run_model_stream(_turn: Turn, _prompt: Prompt) -> Result<bool, Error> {
        Ok(true)
    }
}

export!(Twice);
