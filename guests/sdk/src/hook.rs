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
//! `wit/README.md` describes when each hook is called and what its answers mean. A function is called natively as it is: a test
//! makes a [`Turn`](crate::Turn) with [`test::Host`](crate::test::Host) and calls it.

mod export;
mod grants;

#[doc(hidden)]
pub use export::types;

use crate::model::{Request, Sink};
use crate::tool::ToolSpec;
use crate::{Error, Result, Turn};

pub use crate::manifest::{Channel as Description, Command};
pub use crate::wit::admit_message::exports::bub::hooks::admit_message::{Decision, SessionLoad};
pub use crate::wit::after_llm_call::exports::bub::hooks::after_llm_call::LlmResult;
pub use crate::wit::before_llm_call::exports::bub::hooks::before_llm_call::{LlmDecision, LlmRequest};
pub use crate::wit::before_reset::exports::bub::hooks::before_reset::Attachment;
pub use crate::wit::before_tool_call::exports::bub::hooks::before_tool_call::ToolDecision;
pub use crate::wit::channel::exports::bub::channel::channel::{Arrival, Inbox, WebhookRequest, WebhookResponse};
pub use crate::wit::embedder::exports::bub::model::embedder::{Guest as Embedder, Purpose};
pub use crate::wit::store::exports::bub::tape::store::{Batch, Guest as Store, Lookup, Outcome, Page, Reset};
pub use crate::wit::store_query::exports::bub::tape::store_query::{Candidates, Condition, Guest as StoreQuery};

use crate::turn::Envelope;

/// A channel: where messages come from, and where answers go. A channel leaves out functions it does not support.
pub trait Channel {
    /// The name and the abilities of the channel. It is a constant because the manifest contains it.
    const DESCRIPTION: Description;

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
    /// If the request cannot be answered.
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

/// Commands: `bub-wasm NAME ARGUMENT...` runs one.
pub trait Commands {
    /// All of them. The manifest contains them.
    const COMMANDS: &'static [Command];

    /// Runs one of them, and returns the text to print.
    ///
    /// # Errors
    ///
    /// The user reads them.
    fn run(name: &str, arguments: &[String]) -> Result<String>;
}

/// Tools that are known only when the plugin runs: those of a server, or of the configuration. The manifest says so, and the
/// host asks for them whenever it loads the plugin. Tools that are known before are functions with the attribute
/// [`tool`](macro@crate::tool), and a plugin has either.
pub trait DynamicTools {
    /// The tools. It is called without a turn, so that all but the configuration is out of reach.
    fn list() -> Vec<ToolSpec>;

    /// Calls one of them with arguments in JSON that are valid under its schema, and returns its result in JSON.
    ///
    /// # Errors
    ///
    /// The model reads them.
    fn call(turn: &Turn, name: &str, arguments: &str) -> Result<String>;
}

/// A provider of models.
pub trait Provider {
    /// The part before the colon in `provider:model`. The manifest contains it.
    const NAME: &'static str;

    /// Answers a request, event by event.
    ///
    /// # Errors
    ///
    /// `context-length`, if the request is too long; `temporary`, where a later attempt may succeed.
    fn complete(request: Request, sink: &Sink) -> Result<()>;
}
