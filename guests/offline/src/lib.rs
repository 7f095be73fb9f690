//! The provider `offline`: deterministic answers without a model and a network. The default of a fresh installation,
//! and scriptable for tests.

bub_guest::plugin! {
    about: "The model provider `offline`, which is no language model: it answers by fixed rules, so that the program can be tried without one.",
    hooks: {
        /// to answer when a model `offline:...` is called
        provider: Offline,
    },
}

mod chat;
mod script;
mod usage;

use bub_guest::hook::Provider;
use bub_guest::model::{Event, Request, Sink};
use bub_guest::{Error, ErrorKind, Result, ToolCall};
use chat::Message;
use script::{Answer, Failure};

/// The one model of this provider: `offline:demo`.
const MODEL: &str = "demo";
/// Characters per chunk of streamed text: small, so that streaming is visible.
const PIECE: usize = 8;

struct Offline;

impl Provider for Offline {
    const NAME: &'static str = "offline";

    fn complete(request: Request, sink: &Sink) -> Result<()> {
        if let Some(model) = request.model.as_deref().filter(|model| *model != MODEL) {
            let message = format!("provider `offline` has the one model `{MODEL}`, not `{model}`");
            return Err(Error::config(message));
        }
        let messages = chat::parse(&request.messages)
            .map_err(|place| Error::invalid(format!("message {place} is no JSON object")))?;
        match script::answer(&messages) {
            Answer::Text { reasoning, text } => speak(sink, &messages, reasoning, &text),
            Answer::Calls(calls) => call(sink, &messages, calls),
            Answer::Failure(Failure::ContextLength) => Err(Error::new(ErrorKind::ContextLength, script::OVERFLOW)),
            Answer::Failure(Failure::Internal) => Err(Error::new(ErrorKind::Provider, script::INTERNAL)),
        }
    }
}

fn speak(sink: &Sink, messages: &[Message], reasoning: Option<&str>, text: &str) -> Result<()> {
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

fn call(sink: &Sink, messages: &[Message], calls: Vec<script::Call>) -> Result<()> {
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
