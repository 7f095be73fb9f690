//! Conversions between the types of a guest, the host and a model's client.

use crate::guest::bindings::exchange;
use bub_model::Event;
use bub_types::{Error, ErrorKind, ToolCall};

/// Events that wait between model and guest.
pub(crate) const EVENTS: usize = 64;

pub(crate) fn into_error(error: bub_model::Error) -> Error {
    let kind = match error.kind {
        bub_model::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        bub_model::ErrorKind::Config => ErrorKind::Config,
        bub_model::ErrorKind::Provider => ErrorKind::Provider,
        bub_model::ErrorKind::ContextLength => ErrorKind::ContextLength,
        bub_model::ErrorKind::Temporary => ErrorKind::Temporary,
        bub_model::ErrorKind::Cancelled => ErrorKind::Cancelled,
    };
    Error::new(kind, error.told())
}

pub(crate) fn into_call(call: bub_model::ToolCall) -> ToolCall {
    ToolCall { id: call.id, name: call.name, arguments: call.arguments }
}

pub(crate) fn into_guest(event: Event) -> exchange::Event {
    match event {
        Event::Text(text) => exchange::Event::Text(text),
        Event::Reasoning(text) => exchange::Event::Reasoning(text),
        Event::ToolCalls(calls) => exchange::Event::ToolCalls(calls.into_iter().map(into_call).collect()),
        Event::Usage(usage) => exchange::Event::Usage(usage),
        Event::Finish(reason) => exchange::Event::Finish(reason),
    }
}

pub(crate) fn from_guest(event: exchange::Event) -> Event {
    match event {
        exchange::Event::Text(text) => Event::Text(text),
        exchange::Event::Reasoning(text) => Event::Reasoning(text),
        exchange::Event::ToolCalls(calls) => Event::ToolCalls(
            calls
                .into_iter()
                .map(|call| bub_model::ToolCall { id: call.id, name: call.name, arguments: call.arguments })
                .collect(),
        ),
        exchange::Event::Usage(usage) => Event::Usage(usage),
        exchange::Event::Finish(reason) => Event::Finish(reason),
    }
}
