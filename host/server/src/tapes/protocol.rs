//! The tape store protocol, reading: `guests/tapes-http/README.md` defines it.

use super::super::ApiError;
use super::super::extract::{Caller, PathName, QueryParams};
use super::by_name;
use super::page::{self, MAX_ENTRIES, Range};
use super::read::ListParams;
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bub_config::Scope;
use bub_tape::Lookup;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `GET /v1/tapes/{tape}/entries`: a page of a tape, as lines of JSON or, by `Accept`, as one JSON document.
pub(crate) async fn entries(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(range): QueryParams<Range>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    let page = range.read(&**api.gateway.host().tapes().store(), tape.name()).await?;
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepted.contains("application/json") && !accepted.contains("application/jsonl") {
        return Ok(super::read::page_response(
            tape.name(),
            api.gateway.session_of(&name).await?.as_deref(),
            &page,
            BTreeMap::new(),
        ));
    }
    let mut response = page::to_lines(&page.entries);
    let more = if page.next.is_some() { "true" } else { "false" };
    response.headers_mut().insert("bub-more", HeaderValue::from_static(more));
    if let Some(next) = page.next {
        response.headers_mut().insert("bub-next", HeaderValue::from(next));
    }
    Ok(response)
}

/// Which entry to look up.
#[derive(Debug, Deserialize)]
pub(crate) struct NewestParams {
    kind: Option<String>,
    name: Option<String>,
    #[serde(default)]
    phase: bool,
    before: Option<u64>,
}

/// `GET /v1/tapes/{tape}/newest`: the newest matching entry, as a line of JSON.
pub(crate) async fn newest(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(params): QueryParams<NewestParams>,
) -> Result<Response, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    let lookup = match (params.kind, params.name, params.phase) {
        (Some(kind), Some(name), false) => Lookup::Named { kind, name },
        (Some(kind), None, false) => Lookup::Kind(kind),
        (None, None, true) => Lookup::Phase,
        _ => return Err(ApiError::bad_request("name an entry by `kind`, by `kind` and `name`, or by `phase=true`")),
    };
    let found = api.gateway.host().tapes().store().newest(tape.name(), &lookup, params.before).await?;
    Ok(page::to_lines(found.as_slice()))
}

/// `GET /v1/tapes`: the names of all tapes, for tokens without a session prefix.
pub(crate) async fn names(
    Caller { api, bearer }: Caller,
    QueryParams(params): QueryParams<ListParams>,
) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    if !bearer.session_prefix.is_empty() {
        let (name, prefix) = (&bearer.name, bearer.session_prefix.escape_debug());
        return Err(ApiError::forbidden(format!(
            "token `{name}` reaches only sessions that begin with `{prefix}`: `/v1/sessions` lists them"
        )));
    }
    let max = params.max.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
    let names = api.gateway.host().tapes().store().list(params.after.as_deref(), max).await?;
    Ok(Json(json!({ "names": names })))
}

/// `GET /v1/tapes/{tape}/sidecars`: the names of a tape's sidecars.
pub(crate) async fn sidecars(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(params): QueryParams<ListParams>,
) -> Result<Json<Value>, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    let names = api.gateway.host().tapes().store().sidecars(tape.name()).await?;
    let rest = names.into_iter().filter(|name| params.after.as_ref().is_none_or(|after| name > after));
    let names: Vec<String> = rest.take(params.max.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES)).collect();
    Ok(Json(json!({ "names": names })))
}

/// `GET /v1/tapes/{tape}/archive-name`: the name that a reset would archive the tape under.
pub(crate) async fn archive_name(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
) -> Result<Json<Value>, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    let name = api.gateway.host().tapes().store().archive_name(tape.name()).await?;
    Ok(Json(json!({ "name": name })))
}
