//! Why tool calls of a session were allowed, asked about or denied: `why` over HTTP.

use super::super::ApiError;
use super::super::extract::{Caller, PathName, QueryParams};
use super::by_session;
use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use bub_runtime::why::{self, Explanation};
use serde::Deserialize;
use serde_json::{Value, json};

/// Decisions that are listed.
const MAX_DECISIONS: usize = 100;

/// How many are listed.
#[derive(Debug, Deserialize)]
pub(crate) struct DecisionParams {
    max: Option<usize>,
}

/// The entry that has the call, where several have one id.
#[derive(Debug, Deserialize)]
pub(crate) struct CallParams {
    call_entry: Option<u64>,
}

/// `GET /v1/sessions/{session}/decisions`: the newest ones, newest first.
pub(crate) async fn decisions(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(params): QueryParams<DecisionParams>,
) -> Result<Json<Value>, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let _permit = api.scan_permit().await;
    let host = api.gateway.host();
    let mut explained = Vec::new();
    for decision in why::decisions(&tape, params.max.unwrap_or(20).min(MAX_DECISIONS)).await? {
        explained.push(why::explain(&tape, &host.config, &decision).await?);
    }
    Ok(Json(json!({ "session_id": session, "decisions": explained })))
}

/// `GET /v1/sessions/{session}/decisions/{id}`: by the id of its entry, of the call, or of the question about it.
pub(crate) async fn decision(
    Caller { api, bearer }: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
    QueryParams(params): QueryParams<CallParams>,
) -> Result<Json<Explanation>, ApiError> {
    let Ok(Path((session, id))) = path else {
        return Err(ApiError::bad_request("a name in the path is not UTF-8"));
    };
    let (_, tape) = by_session(&api, &bearer, session).await?;
    let _permit = api.scan_permit().await;
    let host = api.gateway.host();
    let Some(found) = why::decision(&tape, &id, params.call_entry).await? else {
        return Err(ApiError::not_found("this session has no decision and no tool call with that id"));
    };
    Ok(Json(why::explain(&tape, &host.config, &found).await?))
}
