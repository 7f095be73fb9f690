//! Calls a model as `[plugins.NAME.config.call]` says, and says what came of it: `{ model = "..." }` names the model,
//! `{ content = "..." }` is what it says, `{ first = true }` takes one event and drops the rest, `{ go-on = true }` asks
//! for the prompt of a next step.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/model", generate_all });

use bub::model::chat;
use bub::model::exchange::{Event, Request};
use bub::plugin::config;
use bub::turn::stages;
use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};
use serde_json::{Value, json};

struct Caller;

impl exports::bub::hooks::run_model::Guest for Caller {
    fn run_model(turn: Turn, prompt: Prompt) -> Result<Option<String>, Error> {
        let call: Value = config::get("call").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        if call["go-on"] == true {
            let next = stages::continue_prompt(&turn, &prompt)?;
            return Ok(Some(next.map_or("the end".to_owned(), |next| format!("next: {next}"))));
        }
        let request = Request {
            model: call["model"].as_str().map(str::to_owned),
            messages: vec![json!({ "role": "user", "content": call["content"].as_str().unwrap_or("hi") }).to_string()],
            tools: Vec::new(),
            max_tokens: None,
            purpose: "test".to_owned(),
            options: None,
        };
        // What went wrong is said and not raised, so that a test sees its kind.
        Ok(Some(
            ask(&turn, &request, call["first"] == true)
                .unwrap_or_else(|error| format!("{:?}: {}", error.kind, error.message)),
        ))
    }
}

fn ask(turn: &Turn, request: &Request, only_first: bool) -> Result<String, Error> {
    let completion = chat::complete(turn, request)?;
    let mut said = String::new();
    while let Some(event) = completion.next()? {
        if let Event::Text(text) = event {
            said.push_str(&text);
        }
        if only_first {
            break;
        }
    }
    Ok(said)
}

export!(Caller);
