//! A model provider: answers requests for models `bindgen-provider:...`.

wit_bindgen::generate!({
    inline: "
        package my:provider@0.1.0;
        world plugin {
            import bub:plugin/config@0.1.0;
            export bub:model/provider@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

use bub::model::exchange::{Event, Request};
use bub::model::sink::Sink;
use bub::plugin::config;
use bub::types::types::{Error, ErrorKind};
use exports::bub::model::provider::Guest;
use serde_json::Value;

const MANIFEST: &[u8] = br#"{
  "name": "bindgen-provider",
  "version": "0.1.0",
  "about": "The provider `bindgen-provider`, which answers from its configuration.",
  "wants": [
    { "grant": "hook:provider", "why": "to answer when a model `bindgen-provider:...` is called" }
  ],
  "config_schema": {
    "type": "object",
    "properties": {
      "answers": {
        "type": "object",
        "additionalProperties": { "type": "string" },
        "default": {},
        "description": "Answers by question."
      }
    },
    "additionalProperties": false
  }
}"#;

#[used]
#[unsafe(link_section = "bub:manifest")]
static SECTION: [u8; MANIFEST.len()] = *MANIFEST.first_chunk().unwrap();

/// The one model of this provider.
const MODEL: &str = "canned";

struct Plugin;

impl Guest for Plugin {
    /// The part before the colon.
    fn name() -> String {
        "bindgen-provider".to_owned()
    }

    fn complete(request: Request, sink: Sink) -> Result<(), Error> {
        if let Some(other) = request.model.as_deref().filter(|model| *model != MODEL && *model != "check") {
            let message = format!("provider `bindgen-provider` has the one model `{MODEL}`, not `{other}`");
            return Err(error(ErrorKind::Config, message));
        }
        let answers: Value = match config::get("answers") {
            Some(text) => serde_json::from_str(&text)
                .map_err(|why| error(ErrorKind::Config, format!("`answers` is not understood: {why}")))?,
            None => Value::Null,
        };
        let question = question(&request)?;
        let known = answers[question.trim()].as_str();
        let answer = known.map_or_else(|| format!("You said: {question}"), str::to_owned);
        // Readers see each piece when it is sent.
        for piece in answer.split_inclusive(' ') {
            sink.send(&Event::Text(piece.to_owned()))?;
        }
        sink.send(&Event::Finish("stop".to_owned()))
    }
}

/// The last line of what the user said last. Messages are in OpenAI's chat format.
fn question(request: &Request) -> Result<String, Error> {
    for message in request.messages.iter().rev() {
        let message: Value = serde_json::from_str(message)
            .map_err(|why| error(ErrorKind::InvalidInput, format!("a message of the request: {why}")))?;
        if message["role"] == "user" {
            let text: String = match &message["content"] {
                Value::String(text) => text.clone(),
                // A message with images is a list of parts.
                parts => parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
            };
            return Ok(text.lines().last().unwrap_or_default().to_owned());
        }
    }
    Err(error(ErrorKind::InvalidInput, "the request has no message of a user".to_owned()))
}

fn error(kind: ErrorKind, message: String) -> Error {
    Error { kind, message, details: None }
}

export!(Plugin);
