//! Answers every hook from its configuration, `run-model` among them. `script.rs` documents the answers.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/scripted", generate_all });

#[path = "../script.rs"]
mod script;

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};
use script::{Script, answer, prompt_json, saw};
use serde_json::json;

impl exports::bub::hooks::run_model::Guest for Script {
    fn run_model(turn: Turn, prompt: Prompt) -> Result<Option<String>, Error> {
        saw("run-model", json!({ "prompt": prompt_json(&prompt), "session": turn.session_id() }));
        Ok(answer("run-model")?.and_then(|text| text.as_str().map(str::to_owned)))
    }
}

export!(Script);
