//! The client of model servers: sends chat requests over HTTP and returns their answers as events.
//!
//! Requests are shaped like OpenAI's chat completions, and answers are the same events for all servers. Only `body`,
//! which writes requests, and `answer`, which reads documents, know the two protocols. A request passes through the
//! modules in this order:
//!
//!  module | content |
//! | --- | --- |
//!  `settings` | model, keys, addresses, limits |
//!  `exchange` | requests and events |
//!  `raw_object` | validated JSON objects that are spliced into bodies |
//!  `client` | fallback models and error handling |
//!  `endpoint` | resolution of `provider:model` to address, key and name |
//!  `protocol` | paths and key headers of the protocols |
//!  `body` | requests as chat completions |
//!  `files` | conversion of text files to text |
//!  `messages` | requests and answers of Anthropic's Messages API |
//!  `attempt` | one POST and the reading of its answer |
//!  `embeddings` | embeddings of texts |
//!  `retry` | retry policy |
//!  `body_reader` | bounded reading of documents and server-sent events |
//!  `answer`, `calls` | conversion of documents to events, assembly of tool calls |
//!  `completion` | the stream of events to the consumer |
//!  `refusal`, `overflow` | classification of server errors |
//!  `redact_stream` | redaction of streamed text |
//!  `route` | proxies, and where keys may be sent |
//!  `redaction`, `error` | one-line errors without keys |
//!
//! **Architecture invariant:** the crate has no knowledge of WebAssembly, hooks, tapes or channels, and reads only
//! proxies from the environment. A key leaves it only in one header of one request.

#![warn(missing_docs, unreachable_pub)]

mod answer;
mod attempt;
mod body;
mod body_reader;
mod calls;
mod client;
mod completion;
mod embeddings;
mod endpoint;
mod error;
mod exchange;
mod files;
pub mod local_stream;
mod messages;
mod overflow;
mod protocol;
mod raw_object;
mod redact_stream;
mod redaction;
mod refusal;
mod retry;
mod route;
mod settings;
pub mod usage;
mod window;

pub use client::{Client, ProbeResult};
pub use completion::Completion;
pub use embeddings::{Embedded, check as check_vectors};
pub use endpoint::{
    has_own, is_address, key_wanted, known_provider, known_providers, provider_of, reachable, server_of, split,
};
pub use error::{Error, ErrorKind};
pub use exchange::{Event, Request, ToolCall, ToolSpec};
pub use files::as_text as text_files_as_text;
pub use overflow::is_context_length;
pub use raw_object::RawObject;
pub use redaction::secrets;
pub use route::{Route, is_this_machine};
pub use settings::{Secret, Settings};
pub use window::window;
