//! The context of the next model request: `tape context` over HTTP.

use super::super::extract::{Caller, PathName, QueryParams};
use super::super::token::Bearer;
use super::super::{Api, ApiError};
use super::{by_name, by_session};
use axum::Json;
use bub_blame::Blame;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, Preview};
use bub_tape::Store;
use bub_types::ErrorKind;
use bub_types::suggest;
use bub_types::text::escaped;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// The selector, and the prompt of the next message.
#[derive(Debug, Deserialize)]
pub(crate) struct ContextParams {
    selector: Option<String>,
    prompt: Option<String>,
}

/// `GET /v1/tapes/{tape}/context`.
pub(crate) async fn tape_context(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(params): QueryParams<ContextParams>,
) -> Result<Json<Value>, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    // Hooks need a session id, and the name of a tape does not reveal it.
    let session = api.gateway.session_of(tape.name()).await?.unwrap_or_else(|| tape.name().to_owned());
    context(&api, &bearer, &session, tape.name(), &params).await
}

/// `GET /v1/sessions/{session}/context`.
pub(crate) async fn session_context(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(params): QueryParams<ContextParams>,
) -> Result<Json<Value>, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    context(&api, &bearer, &session, tape.name(), &params).await
}

/// `GET /v1/sessions/{session}/selection`: what the selector selects for the next model request.
pub(crate) async fn selection(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(params): QueryParams<ContextParams>,
) -> Result<Json<Value>, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let _permit = api.scan_permit().await;
    let host = api.gateway.host();
    params.check(&host)?;
    let report = params.preview(&host, &bearer, &session, tape.name()).selection(&host).await.map_err(failed)?;
    let mut fields = report.to_json();
    fields.insert("session_id".to_owned(), json!(session));
    fields.insert("window_cut".to_owned(), json!(report.is_cut));
    Ok(Json(Value::Object(fields)))
}

/// `GET /v1/sessions/{session}/blame`: who wrote which bytes of the next model request.
pub(crate) async fn blame(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(params): QueryParams<ContextParams>,
) -> Result<Json<Blame>, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let _permit = api.scan_permit().await;
    let host = api.gateway.host();
    params.check(&host)?;
    let trail = params.preview(&host, &bearer, &session, tape.name()).trail(&host).await.map_err(failed)?;
    // Differences of long texts take a while.
    let blamed = tokio::task::spawn_blocking(move || bub_blame::blame(&trail)).await;
    let blamed = blamed.map_err(|error| ApiError::internal(&error.to_string()))?;
    blamed.map(Json).map_err(|error| ApiError::internal(&error))
}

async fn context(
    api: &Api,
    bearer: &Bearer,
    session: &str,
    tape: &str,
    params: &ContextParams,
) -> Result<Json<Value>, ApiError> {
    let _permit = api.scan_permit().await;
    let host = api.gateway.host();
    params.check(&host)?;
    let messages = params.preview(&host, bearer, session, tape).messages(&host).await.map_err(failed)?;
    // Tapes hold Python's JSON, which allows NaN and infinities.
    let readable =
        |message: String| RawValue::from_string(message).unwrap_or_else(|_| super::page::to_raw(&Value::Null));
    let messages: Vec<_> = messages.into_iter().map(readable).collect();
    Ok(Json(json!({ "tape": tape, "session_id": session, "messages": messages })))
}

impl ContextParams {
    /// Checks that the named plugin selects.
    fn check(&self, host: &Arc<Host>) -> Result<(), ApiError> {
        let Some(selector) = &self.selector else { return Ok(()) };
        let calls = CallScope::new(host);
        let selectors: Vec<&str> = hooks::selectors(&calls).collect();
        if selectors.contains(&selector.as_str()) {
            return Ok(());
        }
        let shown = escaped(selector, 64);
        let hint = suggest::hint(selector, selectors.iter().copied());
        Err(ApiError::bad_request(format!("no plugin `{shown}` selects{hint}")))
    }

    fn preview<'a>(&'a self, host: &Arc<Host>, bearer: &'a Bearer, session_id: &'a str, tape: &'a str) -> Preview<'a> {
        let store: Arc<dyn Store> = Arc::clone(host.tapes().store());
        let (prompt, selector) = (self.prompt.as_deref(), self.selector.as_deref());
        Preview { store, tape, session_id, prompt, selector, requester: bearer.requester() }
    }
}

fn failed(error: anyhow::Error) -> ApiError {
    match error.downcast_ref::<Failure>() {
        // A name of the client's choice can be too long for the sidecars that a turn opens.
        Some(Failure::Tape(error)) if error.kind == ErrorKind::InvalidInput => ApiError::bad_request(&error.message),
        _ => ApiError::internal(&format!("{error:#}")),
    }
}
