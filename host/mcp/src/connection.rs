//! What the server needs of its surroundings.

use super::elicitation::Elicitor;
use bub_runtime::host::Host;
use bub_runtime::imports::toolbox::DirectCall;
use bub_runtime::turn::{Cancel, Listener};
use bub_telemetry::TraceContext;
use bub_types::Error;
use rmcp::ErrorData;
use rmcp::model::Extensions;
use std::sync::Arc;

/// Where requests come from.
pub trait Connection: Send + Sync + 'static {
    /// Who makes a request.
    type Caller: Caller;

    /// The caller of a request, from what the transport knows of it.
    ///
    /// # Errors
    ///
    /// The transport does not say who it is.
    fn caller(&self, extensions: &Extensions) -> Result<Self::Caller, ErrorData>;
}

/// Who makes a request, and what it may reach.
pub trait Caller: Send + Sync + 'static {
    /// The host that the caller's turns run with.
    fn host(&self) -> Arc<Host>;

    /// The session whose tape has the caller's tool calls.
    fn session(&self) -> &str;

    /// The prefix of all session ids that the caller reaches; empty: all sessions.
    fn session_prefix(&self) -> &str;

    /// # Errors
    ///
    /// The caller may not call tools and run turns.
    fn check_calls(&self) -> Result<(), ErrorData>;

    /// # Errors
    ///
    /// The caller may not read tapes.
    fn check_reads(&self) -> Result<(), ErrorData>;

    /// # Errors
    ///
    /// The caller does not reach that session, or the name is invalid.
    fn check_session(&self, session: &str) -> Result<(), ErrorData>;

    /// Runs a turn to its end. Dropping the future cancels it.
    fn run(&self, work: Work) -> impl Future<Output = Result<Outcome, ErrorData>> + Send;
}

/// A turn to run.
pub struct Work {
    /// Its session.
    pub session: String,
    /// Why it begins tainted, if it does.
    pub taint: Option<String>,
    /// The message.
    pub content: String,
    /// A tool call in place of the message.
    pub call: Option<Arc<DirectCall>>,
    /// Receives the events of the turn.
    pub listener: Option<Listener>,
    /// Cancels it.
    pub cancel: Cancel,
    /// Asks the client's user, where the client can.
    pub elicitor: Option<Elicitor>,
    /// The trace that the client has begun, as `_meta` says.
    pub trace: Option<TraceContext>,
}

/// How a turn ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its answer.
    pub text: String,
    /// Why there is none.
    pub error: Option<Error>,
}
