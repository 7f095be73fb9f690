//! As `endless`, for the exports that no plugin has beside the others: `run-model`, and `build-prompt` of version 0.2.0.

wit_bindgen::generate!({
    inline: "
        package bub:programs-otherwise;
        world endless-otherwise {
            include bub:plugin/imports@0.1.0;
            export bub:hooks/run-model@0.1.0;
            export bub:hooks/build-prompt@0.2.0;
        }
    ",
    path: ["../../wit", "../../wit/trial"],
    generate_all,
});

#[path = "../place.rs"]
mod place;

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};
use place::pass;

struct Endless;

impl exports::bub::hooks0_1_0::run_model::Guest for Endless {
    fn run_model(_turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        pass("run-model");
        Ok(None)
    }
}

impl exports::bub::hooks0_2_0::build_prompt::Guest for Endless {
    fn build_prompt(_turn: Turn, _made: Prompt) -> Result<Option<Prompt>, Error> {
        pass("build-prompt");
        Ok(None)
    }
}

export!(Endless);
