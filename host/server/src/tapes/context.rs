//! The context of the next model request: `tape context` over HTTP.

use super::super::extract::{Caller, PathName, QueryParams};
use super::super::token::Bearer;
use super::super::{Api, ApiError};
use super::{by_name, by_session};
use axum::Json;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::turn::{CallScope, Preview};
use bub_tape::Store;
use bub_types::ErrorKind;
use bub_types::suggest;
use bub_types::text::escaped;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// The context selector, and the prompt of the next message.
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

async fn context(
    api: &Api,
    bearer: &Bearer,
    session: &str,
    tape: &str,
    params: &ContextParams,
) -> Result<Json<Value>, ApiError> {
    let _permit = api.scan_permit().await;
    let host = api.gateway.host();
    if let Some(selector) = &params.selector {
        let calls = CallScope::new(&host);
        let selectors: Vec<&str> = hooks::selectors(&calls).collect();
        if !selectors.contains(&selector.as_str()) {
            let shown = escaped(selector, 64);
            let hint = suggest::hint(selector, selectors.iter().copied());
            return Err(ApiError::bad_request(format!("no plugin `{shown}` selects{hint}")));
        }
    }
    let store: Arc<dyn Store> = Arc::clone(host.tapes().store());
    let preview = Preview {
        store,
        tape,
        session_id: session,
        prompt: params.prompt.as_deref(),
        selector: params.selector.as_deref(),
        requester: bearer.requester(),
    };
    let messages = preview.messages(&host).await.map_err(|error| match error.downcast_ref::<Failure>() {
        // A name of the client's choice can be too long for the sidecars that a turn opens.
        Some(Failure::Tape(error)) if error.kind == ErrorKind::InvalidInput => ApiError::bad_request(&error.message),
        _ => ApiError::internal(&format!("{error:#}")),
    })?;
    // Tapes hold Python's JSON, which allows NaN and infinities.
    let readable =
        |message: String| RawValue::from_string(message).unwrap_or_else(|_| super::page::to_raw(&Value::Null));
    let messages: Vec<_> = messages.into_iter().map(readable).collect();
    Ok(Json(json!({ "tape": tape, "session_id": session, "messages": messages })))
}
