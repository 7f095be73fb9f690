//! Hooks: functions that `plugin!` exports, and traits for those that have several functions.
//!
//! | hook | function or trait |
//! | --- | --- |
//! | `resolve_session` | `fn(Envelope) -> Result<Option<String>>` |
//! | `load_state` | `fn(&Turn) -> Result<Option<Value>>`, a JSON object |
//! | `build_prompt` | `fn(&Turn) -> Result<Option<Prompt>>` |
//! | `run_model` | `fn(&Turn, Prompt) -> Result<Option<String>>` |
//! | `run_model_stream` | `fn(&Turn, Prompt) -> Result<bool>` |
//! | `continue_prompt` | `fn(&Turn, Prompt) -> Result<Option<String>>` |
//! | `system_prompt` | `fn(&Turn, Prompt) -> Result<Vec<SystemPart>>` |
//! | `selector` | `fn(&View) -> Result<Selected>` |
//! | `save_state` | `fn(&Turn, String, Option<Error>) -> Result<()>` |
//! | `render_outbound` | `fn(&Turn, String) -> Result<Vec<Envelope>>` |
//! | `dispatch_outbound` | `fn(Envelope) -> Result<bool>` |
//! | `on_error` | `fn(String, Error, Option<Envelope>) -> Vec<Envelope>` |
//! | `after_turn` | `fn(&Turn, String)` |
//! | `before_reset` | `fn(&Turn, bool) -> Result<Vec<Attachment>>` |
//! | `before_llm_call` | `fn(&Turn, LlmRequest) -> Result<LlmDecision>` |
//! | `after_llm_call` | `fn(&Turn, String, LlmResult)` |
//! | `before_tool_call` | `fn(&Turn, ToolCall) -> Result<ToolDecision>` |
//! | `after_tool_call` | `fn(&Turn, ToolCall, Result<String>) -> Result<Option<String>>` |
//! | `admit_message` | `fn(String, Envelope, SessionLoad) -> Result<Option<Decision>>` |
//! | `provide_model_options` | `fn(String) -> Result<ModelOptions>` |
//! | `commands` | [`Commands`] |
//! | `channel` | [`Channel`] |
//! | `provider` | [`Provider`] |
//! | `embedder` | [`Embedder`] |
//! | `store` | [`Store`] |
//! | `store_query` | [`StoreQuery`] |
//!
//! What each is called for, and what its answers mean, is in `wit/README.md`. A function is called natively as it is: a test
//! makes a [`Turn`](crate::Turn) with [`test::Host`](crate::test::Host) and calls it.

mod export;
mod grants;

#[doc(hidden)]
pub use export::types;

use crate::model::{Request, Sink};
use crate::{Error, Result};

pub use crate::wit::admit_message::exports::bub::hooks::admit_message::{Decision, SessionLoad};
pub use crate::wit::after_llm_call::exports::bub::hooks::after_llm_call::LlmResult;
pub use crate::wit::before_llm_call::exports::bub::hooks::before_llm_call::{LlmDecision, LlmRequest};
pub use crate::wit::before_reset::exports::bub::hooks::before_reset::Attachment;
pub use crate::wit::before_tool_call::exports::bub::hooks::before_tool_call::ToolDecision;
pub use crate::wit::channel::exports::bub::channel::channel::{
    Arrival, Description, Inbox, WebhookRequest, WebhookResponse,
};
pub use crate::wit::commands::exports::bub::hooks::commands::{Command, Guest as Commands};
pub use crate::wit::embedder::exports::bub::model::embedder::{Guest as Embedder, Purpose};
pub use crate::wit::store::exports::bub::tape::store::{Batch, Guest as Store, Lookup, Outcome, Page, Reset};
pub use crate::wit::store_query::exports::bub::tape::store_query::{Candidates, Condition, Guest as StoreQuery};

use crate::turn::Envelope;

/// A channel: where messages come from, and where answers go. What a channel does not do it leaves out.
pub trait Channel {
    /// What the channel is called and what it can do.
    fn describe() -> Description;

    /// Asks for messages that have arrived since the cursor.
    ///
    /// # Errors
    ///
    /// `temporary`, where a later attempt may succeed.
    fn poll(_cursor: Option<String>) -> Result<Inbox> {
        Err(unsupported("poll"))
    }

    /// Takes a request from outside.
    ///
    /// # Errors
    ///
    /// Where the request cannot be answered.
    fn receive(_request: WebhookRequest) -> Result<WebhookResponse> {
        Err(unsupported("receive"))
    }

    /// Sends a message. `key` is the same for each attempt. The handle that it returns is for [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// `temporary`, where a later attempt may succeed.
    fn send(message: Envelope, key: String) -> Result<Option<String>>;

    /// Changes a message that was sent.
    ///
    /// # Errors
    ///
    /// `temporary`, where a later attempt may succeed.
    fn update(_handle: String, _message: Envelope) -> Result<()> {
        Err(unsupported("update"))
    }
}

fn unsupported(function: &str) -> Error {
    Error::config(format!("this channel does not support `{function}`"))
}

/// A provider of models.
pub trait Provider {
    /// The part before the colon in `provider:model`.
    fn name() -> String;

    /// Answers a request, event by event.
    ///
    /// # Errors
    ///
    /// `context-length`, if the request is too long; `temporary`, where a later attempt may succeed.
    fn complete(request: Request, sink: &Sink) -> Result<()>;
}
