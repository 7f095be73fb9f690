//! Reading tapes: summaries, entries, anchors and search.

use super::super::extract::{Caller, PathName, QueryParams};
use super::super::{Api, ApiError};
use super::durations::durations;
use super::page::{Page, Range, entry_to_json, to_json};
use super::{by_name, by_session};
use axum::Json;
use axum::response::{IntoResponse, Response};
use bub_tape::{Query, Search, Tape};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Anchors and hits of one response, by default.
const DEFAULT_ITEMS: usize = 20;

/// Sessions, anchors and hits of one response, at most.
pub(super) const MAX_ITEMS: usize = 256;

/// How long a search may take.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

/// A page of a list: at most `max` items after one.
#[derive(Debug, Deserialize)]
pub(crate) struct ListParams {
    pub after: Option<String>,
    pub max: Option<usize>,
}

/// `GET /v1/tapes/{tape}`: a summary of a tape.
pub(crate) async fn tape(Caller { api, bearer }: Caller, PathName(name): PathName) -> Result<Json<Value>, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    let session = api.gateway.session_of(tape.name()).await?;
    summary(&api, session, &tape).await
}

/// `GET /v1/sessions/{session}`: a summary of a session's tape.
pub(crate) async fn session(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
) -> Result<Json<Value>, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    summary(&api, Some(session), &tape).await
}

async fn summary(api: &Api, session: Option<String>, tape: &Tape) -> Result<Json<Value>, ApiError> {
    let _permit = api.scan_permit().await;
    let info = tape.info().await?;
    let (is_running, waiting) = match session.as_deref() {
        Some(session) => api.gateway.load_of(session).await?,
        None => (false, 0),
    };
    Ok(Json(json!({
        "tape": info.name,
        "session_id": session,
        "entries": info.entries,
        "anchors": info.anchors,
        "last_anchor": info.last_anchor,
        "entries_since_last_anchor": info.entries_since_last_anchor,
        "last_token_usage": info.last_token_usage,
        "sidecars": tape.sidecars().await?,
        "running": is_running,
        "waiting": waiting,
    })))
}

#[derive(Serialize)]
struct Entries<'a> {
    tape: &'a str,
    session_id: Option<&'a str>,
    entries: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    durations: BTreeMap<String, u64>,
    more: bool,
    next: Option<u64>,
}

/// A page of a tape as JSON.
pub(super) fn page_response(
    tape: &str,
    session: Option<&str>,
    page: &Page,
    durations: BTreeMap<String, u64>,
) -> Response {
    let (entries, next) = (to_json(&page.entries), page.next);
    Json(Entries { tape, session_id: session, entries, durations, more: next.is_some(), next }).into_response()
}

/// `GET /v1/sessions/{session}/entries`.
pub(crate) async fn entries(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(range): QueryParams<Range>,
) -> Result<Response, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let tapes = api.gateway.host().tapes();
    let mut found = range.read(&**tapes.store(), tape.name()).await?;
    let durations = durations(&**tapes.store(), tape.name(), &found.entries).await?;
    let forgotten = tape.forgotten().await?;
    found.entries = found.entries.into_iter().map(|entry| forgotten.shown(entry)).collect();
    Ok(page_response(tape.name(), Some(&session), &found, durations))
}

/// The number of anchors.
#[derive(Debug, Deserialize)]
pub(crate) struct AnchorParams {
    max: Option<usize>,
}

/// `GET /v1/tapes/{tape}/anchors`: the newest anchors.
pub(crate) async fn anchors(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(params): QueryParams<AnchorParams>,
) -> Result<Json<Value>, ApiError> {
    anchors_response(&api, &by_name(&api, &bearer, &name).await?, &params).await
}

/// `GET /v1/sessions/{session}/anchors`: the newest anchors.
pub(crate) async fn session_anchors(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(params): QueryParams<AnchorParams>,
) -> Result<Json<Value>, ApiError> {
    anchors_response(&api, &by_session(&api, &bearer, session).await?.1, &params).await
}

async fn anchors_response(api: &Api, tape: &Tape, params: &AnchorParams) -> Result<Json<Value>, ApiError> {
    let _permit = api.scan_permit().await;
    let limit = Some(params.max.unwrap_or(DEFAULT_ITEMS).min(MAX_ITEMS));
    let query = Query { kinds: vec!["anchor".to_owned()], newest_first: true, limit, ..Query::default() };
    let mut anchors = tape.query(&query).await?;
    anchors.reverse();
    Ok(Json(json!({ "tape": tape.name(), "anchors": to_json(&anchors) })))
}

/// A search.
#[derive(Debug, Deserialize)]
pub(crate) struct SearchParams {
    q: String,
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
    max: Option<usize>,
}

/// `GET /v1/tapes/{tape}/search`.
pub(crate) async fn search(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(params): QueryParams<SearchParams>,
) -> Result<Json<Value>, ApiError> {
    search_in(&api, &by_name(&api, &bearer, &name).await?, params).await
}

/// `GET /v1/sessions/{session}/search`.
pub(crate) async fn session_search(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
    QueryParams(params): QueryParams<SearchParams>,
) -> Result<Json<Value>, ApiError> {
    search_in(&api, &by_session(&api, &bearer, session).await?.1, params).await
}

async fn search_in(api: &Api, tape: &Tape, params: SearchParams) -> Result<Json<Value>, ApiError> {
    let _permit = api.scan_permit().await;
    let kinds = params.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::to_owned).collect();
    let search = Search {
        text: params.q,
        kinds,
        since: params.since,
        until: params.until,
        limit: params.max.unwrap_or(DEFAULT_ITEMS).min(MAX_ITEMS),
        patience: Some(SEARCH_TIMEOUT),
        ..Search::default()
    };
    let hits = tape.search(&search).await?;
    let hits: Vec<Value> =
        hits.iter().map(|hit| json!({ "score": hit.score, "entry": entry_to_json(&hit.entry) })).collect();
    Ok(Json(json!({ "tape": tape.name(), "hits": hits })))
}
