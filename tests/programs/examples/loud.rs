//! Talks on its stderr, 200 lines of it, and then panics where `[plugins.NAME.config] panics` says so.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/prompt", generate_all });

use bub::plugin::config;
use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Loud;

impl exports::bub::hooks::build_prompt::Guest for Loud {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        for line in 0..200 {
            eprintln!("line {line} of much that nobody wants to read, {}", "and more".repeat(5));
        }
        if config::get("panics").as_deref() == Some("true") {
            panic!("this is what mattered");
        }
        Ok(None)
    }
}

export!(Loud);
