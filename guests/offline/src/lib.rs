//! The provider `offline`: deterministic answers without a model and a network. The default of a fresh installation,
//! and scriptable for tests.

wit_bindgen::generate!({
    inline: "
        package bub:offline@0.1.0;
        world offline {
            export bub:model/provider@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

mod chat;
mod script;
mod usage;

use bub::model::exchange::{Event, Request};
use bub::types::types::{Error, ErrorKind, ToolCall};
use chat::Message;
use exports::bub::model::provider::{Guest, Sink};
use script::{Answer, Failure};

/// The one model of this provider: `offline:demo`.
const MODEL: &str = "demo";
/// Characters per chunk of streamed text: small, so that streaming is visible.
const PIECE: usize = 8;

struct Offline;

impl Guest for Offline {
    fn name() -> String {
        "offline".to_owned()
    }

    fn complete(request: Request, sink: Sink) -> Result<(), Error> {
        if let Some(model) = request.model.as_deref().filter(|model| *model != MODEL) {
            let message = format!("provider `offline` has the one model `{MODEL}`, not `{model}`");
            return Err(error(ErrorKind::Config, message));
        }
        let messages = chat::parse(&request.messages)
            .map_err(|place| error(ErrorKind::InvalidInput, format!("message {place} is no JSON object")))?;
        match script::answer(&messages) {
            Answer::Text { reasoning, text } => speak(&sink, &messages, reasoning, &text),
            Answer::Calls(calls) => call(&sink, &messages, calls),
            Answer::Failure(Failure::ContextLength) => {
                Err(error(ErrorKind::ContextLength, script::OVERFLOW.to_owned()))
            }
            Answer::Failure(Failure::Internal) => Err(error(ErrorKind::Provider, script::INTERNAL.to_owned())),
        }
    }
}

fn speak(sink: &Sink, messages: &[Message], reasoning: Option<&str>, text: &str) -> Result<(), Error> {
    if let Some(reasoning) = reasoning {
        sink.send(&Event::Reasoning(reasoning.to_owned()))?;
    }
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(PIECE) {
        sink.send(&Event::Text(piece.iter().collect()))?;
    }
    sink.send(&Event::Finish("stop".to_owned()))?;
    sink.send(&Event::Usage(usage::of_text(messages, text)))
}

fn call(sink: &Sink, messages: &[Message], calls: Vec<script::Call>) -> Result<(), Error> {
    let usage = usage::of_calls(messages, &calls);
    let calls = calls.into_iter().enumerate().map(|(index, call)| ToolCall {
        id: Some(format!("call_{index}")),
        name: call.name,
        arguments: call.arguments,
    });
    sink.send(&Event::ToolCalls(calls.collect()))?;
    sink.send(&Event::Finish("tool_calls".to_owned()))?;
    sink.send(&Event::Usage(usage))
}

fn error(kind: ErrorKind, message: String) -> Error {
    Error { kind, message, details: None }
}

export!(Offline);
