//! `POST /v1/sessions/{session}/archive`: `tape reset` over HTTP.

use super::super::ApiError;
use super::super::extract::{Caller, PathName};
use super::by_session;
use axum::Json;
use bub_config::Scope;
use bub_runtime::turn::Preview;
use serde_json::{Value, json};
use std::sync::Arc;

/// Archives the tape of a session and its sidecars, with what plugins want kept beside the archive. The session is not listed
/// any more; its next message begins a new tape.
pub(crate) async fn archive(
    Caller { api, bearer }: Caller,
    PathName(named): PathName,
) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Admin)?;
    let (session, tape) = by_session(&api, &bearer, named).await?;
    let host = api.gateway.host();
    let session_id = session.clone();
    let work = async move {
        let preview = Preview {
            store: Arc::clone(host.tapes().store()),
            tape: tape.name(),
            session_id: &session_id,
            prompt: None,
            selector: None,
            requester: bearer.requester(),
        };
        preview.archive(&host, &tape).await
    };
    match api.gateway.complete(work).await?? {
        Some(archive) => Ok(Json(json!({ "session_id": session, "archive": archive }))),
        // Another request was first.
        None => Err(ApiError::not_found("this session has no messages")),
    }
}
