//! Tokens as callers: their turns go through the gateway.

use super::super::token::Bearer;
use super::super::turns;
use super::super::{Api, ApiError};
use super::{SESSION, parts};
use bub_config::{Commands, Scope};
use bub_gateway::{HTTP, Submission, TurnOutcome};
use bub_mcp::rmcp::ErrorData;
use bub_mcp::rmcp::model::Extensions;
use bub_mcp::{Caller, Connection, Outcome, Work};
use bub_runtime::channel::message;
use bub_runtime::host::Host;
use bub_runtime::turn::Identity;
use bub_telemetry::TraceContext;
use bub_types::MessageKind;
use std::sync::Arc;

/// The chat of the messages, on the channel of HTTP.
const CHAT: &str = "mcp";

/// The header that names the session of tool calls, as for OpenAI's clients.
const NAMED: &str = "x-session-id";

/// Characters of a session of the protocol that name the session of its calls: it is a random id.
const SHORT: usize = 8;

/// The clients of the API.
pub(super) struct TokenConnection;

impl Connection for TokenConnection {
    type Caller = TokenCaller;

    fn caller(&self, extensions: &Extensions) -> Result<TokenCaller, ErrorData> {
        let parts = parts(extensions);
        let known = parts.and_then(|parts| {
            let bearer = parts.extensions.get::<Bearer>().cloned()?;
            Some((parts, bearer, parts.extensions.get::<Arc<Api>>().cloned()?))
        });
        let (parts, bearer, api) = known.ok_or_else(|| ErrorData::internal_error("the request has no token", None))?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let session = match (header(NAMED), header(SESSION)) {
            (Some(named), _) => named.to_owned(),
            (None, Some(session)) => {
                let short: String = session.chars().take(SHORT).collect();
                format!("{}{CHAT}:{short}", bearer.session_prefix)
            }
            // Without sessions of the protocol, a token has one.
            (None, None) => format!("{}{CHAT}:{}", bearer.session_prefix, bearer.name),
        };
        let session = turns::session(&bearer, Some(session), "").map_err(to_data)?;
        Ok(TokenCaller { api, bearer, session, trace: turns::trace(&parts.headers) })
    }
}

/// A token, in a session.
pub(super) struct TokenCaller {
    api: Arc<Api>,
    bearer: Bearer,
    session: String,
    trace: Option<TraceContext>,
}

impl Caller for TokenCaller {
    fn host(&self) -> Arc<Host> {
        self.api.gateway.host()
    }

    fn session(&self) -> &str {
        &self.session
    }

    fn session_prefix(&self) -> &str {
        &self.bearer.session_prefix
    }

    fn check_calls(&self) -> Result<(), ErrorData> {
        self.bearer.needs(Scope::Turns).map_err(to_data)
    }

    fn check_reads(&self) -> Result<(), ErrorData> {
        self.bearer.needs(Scope::Read).map_err(to_data)
    }

    fn check_session(&self, session: &str) -> Result<(), ErrorData> {
        turns::session(&self.bearer, Some(session.to_owned()), "").map(drop).map_err(to_data)
    }

    async fn run(&self, work: Work) -> Result<Outcome, ErrorData> {
        let Work { session, taint, content, call, listener, cancel, trace, elicitor: _ } = work;
        match &call {
            Some(call) => self.bearer.charge_bytes(&self.api, call.weight()).await.map_err(to_data)?,
            None => self.bearer.check_tokens(&self.api).await.map_err(to_data)?,
        }
        let identity = Identity { commands: Commands::None, taint, ..self.bearer.identity() };
        let message = message(Some(session), [HTTP, CHAT, &self.bearer.name], &content, MessageKind::Normal);
        let submission = Submission {
            message,
            identity: Some(identity),
            listener,
            session_prefix: self.bearer.session_prefix.clone(),
            leave: Some(cancel),
            earlier: Vec::new(),
            lease: None,
            quota_account: Some(self.bearer.quota_account()),
            call,
            trace: self.trace.or(trace),
        };
        let reply = self.bearer.submit(&self.api, submission).await.map_err(to_data)?;
        let outcome = reply.outcome().await.ok_or_else(|| to_data(ApiError::stopping()))?;
        Ok(Outcome { text: answer(&outcome), error: outcome.error.clone() })
    }
}

/// What the turn delivered to its client; without a delivery, what its model said.
fn answer(outcome: &TurnOutcome) -> String {
    let answers = outcome.outbounds.iter().filter(|envelope| envelope.kind != MessageKind::Error);
    let texts: Vec<&str> = answers.map(|envelope| envelope.content.as_str()).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { outcome.model_output.clone() } else { texts.join("\n\n") }
}

/// An error of the API as one of the protocol.
fn to_data(error: ApiError) -> ErrorData {
    match error.is_callers() {
        true => ErrorData::invalid_request(error.into_message(), None),
        false => ErrorData::internal_error(error.into_message(), None),
    }
}
