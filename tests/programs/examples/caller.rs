//! Calls a model as `[plugins.NAME.config.call]` says, and says what came of it: `{ model = "..." }` names the model,
//! `{ content = "..." }` is what it says, `{ first = true }` takes one event and drops the rest, `{ times = 2 }` calls twice
//! before it listens to either, `{ go-on = true }` asks for the prompt of a next step.

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
        // An error is returned as text, so that a test sees its kind.
        let times = call["times"].as_u64().unwrap_or(1);
        let said = ask(&turn, &request, times, call["first"] == true);
        Ok(Some(said.unwrap_or_else(|error| format!("{:?}: {}", error.kind, error.message))))
    }
}

fn ask(turn: &Turn, request: &Request, times: u64, only_first: bool) -> Result<String, Error> {
    let completions = (0..times).map(|_| chat::complete(turn, request)).collect::<Result<Vec<_>, _>>()?;
    let mut said = String::new();
    for completion in completions {
        while let Some(event) = completion.next()? {
            if let Event::Text(text) = event {
                said.push_str(&text);
            }
            if only_first {
                break;
            }
        }
    }
    Ok(said)
}

export!(Caller);
