//! The client of model servers: sends chat requests over HTTP and returns their answers as events.
//!
//! Requests are shaped like OpenAI's chat completions, and answers are the same events for all servers. Only `body`,
//! which writes requests, and `answer`, which reads documents, know the two protocols. A request passes through the
//! modules in this order:
//!
//! | file | what happens there |
//! | --- | --- |
//! | `settings` | what the user chose: model, keys, addresses, limits |
//! | `exchange` | what is asked and what is answered |
//! | `raw_object` | JSON that was looked at once, and is put into a body as it stands |
//! | `client` | which models are tried, one after the other, and what is done with their errors |
//! | `endpoint` | `provider:model` becomes an address, a key and a name |
//! | `protocol` | where a protocol is posted to, and how it shows the key |
//! | `body` | the request becomes JSON, as chat completions have it |
//! | `files` | text files in messages become text there |
//! | `messages` | the same request as Anthropic's Messages API has it, and what is read of its answer |
//! | `attempt` | one POST and the reading of its answer |
//! | `embeddings` | the other thing that servers do: texts become vectors |
//! | `retry` | whether the same server is asked again, and when |
//! | `body_reader` | bytes become whole documents or server-sent events, within bounds |
//! | `answer`, `calls` | documents become events, pieces of tool calls become calls |
//! | `completion` | events reach whoever wants them |
//! | `refusal`, `overflow` | what a server says is wrong becomes an error of a kind |
//! | `redact_stream` | what is told has no key in it |
//! | `route` | which proxy is used, and where a key may go |
//! | `redaction`, `error` | an error becomes one line without a key in it |
//!
//! **Architecture invariant:** the crate knows nothing of WebAssembly, hooks, tapes or channels, and reads nothing of
//! the environment but proxies. A key leaves it in one header of one request only.

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
pub use overflow::is_context_length;
pub use raw_object::RawObject;
pub use redaction::secrets;
pub use route::{Route, is_this_machine};
pub use settings::{Secret, Settings};
pub use window::window;
