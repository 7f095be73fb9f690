//! Answers every hook from its configuration, `run-model-stream` among them. `script.rs` documents the answers.
//!
//! The stream's answer is a list of events: a text is a `text` event, `{ reasoning = "..." }` and `{ error = "..." }`
//! are events too, `{ fail = "..." }` ends the call with an error, and `{ pause = 3000 }` lets that many milliseconds
//! pass. No list: `false`.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/scripted-stream", generate_all });

#[path = "../script.rs"]
mod script;

use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt, StreamEvent};
use script::{Script, answer, failure, prompt_json, saw};
use serde_json::json;

impl exports::bub::hooks::run_model_stream::Guest for Script {
    fn run_model_stream(turn: Turn, prompt: Prompt) -> Result<bool, Error> {
        saw("run-model-stream", json!({ "prompt": prompt_json(&prompt), "session": turn.session_id() }));
        let Some(answer) = answer("run-model-stream")? else {
            return Ok(false);
        };
        let Some(events) = answer.as_array() else {
            return Ok(false);
        };
        let mut said = String::new();
        for event in events {
            if let Some(text) = event.as_str() {
                said.push_str(text);
                turn.emit(&StreamEvent::Text(text.to_owned()))?;
            } else if let Some(text) = event["reasoning"].as_str() {
                turn.emit(&StreamEvent::Reasoning(text.to_owned()))?;
            } else if let Some(message) = event["error"].as_str() {
                turn.emit(&StreamEvent::Error(failure(message)))?;
            } else if let Some(millis) = event["pause"].as_u64() {
                std::thread::sleep(std::time::Duration::from_millis(millis));
            } else if let Some(message) = event["fail"].as_str() {
                return Err(failure(message));
            }
        }
        turn.emit(&StreamEvent::Final(json!({ "text": said, "steps": 1, "usage": null }).to_string()))?;
        Ok(true)
    }
}

export!(Script);
