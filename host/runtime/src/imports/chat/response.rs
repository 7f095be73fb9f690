//! The response of a model call, as it arrives.

use crate::guest::Running;
use crate::guest::bindings::exported::after_llm_call::LlmResult;
use crate::guest::completion::Outcome;
use crate::guest::convert::into_call;
use crate::turn::Turn;
use bub_model::Event;
use bub_types::{Error, ErrorKind, ToolCall};
use std::time::Instant;
use tokio::sync::mpsc;

/// The outcome of a call: every event goes to the listener, and is kept for those who observe the call.
pub(super) struct ResponseRecorder<'a> {
    turn: &'a Turn,
    /// The caller that asked, and that the response is charged to.
    caller: &'a Running,
    listener: &'a mpsc::Sender<Outcome>,
    /// The model that was asked last; empty while none was.
    pub(super) model: String,
    pub(super) events: u64,
    /// Bytes that the model made, of whatever kind.
    pub(super) received: u64,
    pub(super) text: String,
    pub(super) tool_calls: Vec<ToolCall>,
    /// Why the model ended its answer.
    pub(super) finish: Option<String>,
    pub(super) usage: Option<String>,
}

impl<'a> ResponseRecorder<'a> {
    pub(super) fn new(turn: &'a Turn, caller: &'a Running, listener: &'a mpsc::Sender<Outcome>) -> Self {
        Self {
            turn,
            caller,
            listener,
            model: String::new(),
            events: 0,
            received: 0,
            text: String::new(),
            tool_calls: Vec::new(),
            finish: None,
            usage: None,
        }
    }

    pub(super) async fn pass(&mut self, event: Event) -> Result<(), Error> {
        let event = match event {
            Event::ToolCalls(calls) => Event::ToolCalls(calls.into_iter().enumerate().map(self.named()).collect()),
            other => other,
        };
        self.events += 1;
        self.received += weight(&event);
        match &event {
            Event::Text(text) => {
                let held = self.turn.charge_memory_for(Some(self.caller.clone()), text.len());
                held.map_err(|error| Error::new(ErrorKind::Provider, error.to_string()))?;
                self.text.push_str(text);
            }
            Event::ToolCalls(calls) => self.tool_calls.extend(calls.iter().cloned().map(into_call)),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish(reason) => {
                self.finish = Some(reason.clone());
                // Of the calls of the agent loop itself.
                if self.turn.is_streaming(&self.caller.plugin.name) {
                    self.turn.note_finish_reason(reason);
                }
            }
            Event::Reasoning(_) => {}
        }
        self.listener.send(Ok(event)).await.map_err(|_| Error::cancelled())
    }

    /// A call as the rest of the host knows it: with the tool's own name, and with an id.
    fn named(&self) -> impl Fn((usize, bub_model::ToolCall)) -> bub_model::ToolCall {
        |(at, call)| bub_model::ToolCall {
            name: self.turn.dotted(&call.name),
            id: call.id.or_else(|| Some(format!("call_{at}"))),
            arguments: call.arguments,
        }
    }

    pub(super) fn close(self, error: Option<Error>, began: Instant) -> LlmResult {
        LlmResult {
            text: Some(self.text).filter(|text| !text.is_empty()),
            tool_calls: self.tool_calls,
            usage: self.usage,
            error,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Bytes that a model made for an event.
fn weight(event: &Event) -> u64 {
    let bytes = match event {
        Event::Text(text) | Event::Reasoning(text) => text.len(),
        Event::ToolCalls(calls) => calls.iter().map(|call| call.name.len() + call.arguments.len()).sum(),
        Event::Usage(_) | Event::Finish(_) => 0,
    };
    bytes as u64
}
