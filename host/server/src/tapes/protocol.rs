//! What another host reads that keeps its tapes here: `guests/tapes-http/README.md` is the contract.

use super::super::Problem;
use super::super::extract::{Asked, Caller, Named};
use super::by_name;
use super::page::{self, MOST, Range};
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bub_config::Scope;
use bub_tape::Sought;
use serde::Deserialize;
use serde_json::{Value, json};

/// A stretch of a tape, as lines; as JSON for whoever asks for that.
pub(crate) async fn entries(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(range): Asked<Range>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    let page = range.read(&**api.gateway.host().tapes().store(), tape.name()).await?;
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepted.contains("application/json") && !accepted.contains("application/jsonl") {
        return Ok(super::read::page(tape.name(), api.gateway.session_of(&name).as_deref(), &page));
    }
    let mut response = page::as_lines(&page.entries);
    let more = if page.has_more { "true" } else { "false" };
    response.headers_mut().insert("bub-more", HeaderValue::from_static(more));
    Ok(response)
}

/// Which entry is sought.
#[derive(Debug, Deserialize)]
pub(crate) struct Newest {
    kind: Option<String>,
    name: Option<String>,
    #[serde(default)]
    phase: bool,
    before: Option<u64>,
}

/// The newest entry that is sought, as a line.
pub(crate) async fn newest(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(asked): Asked<Newest>,
) -> Result<Response, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    let sought = match (asked.kind, asked.name, asked.phase) {
        (Some(kind), Some(name), false) => Sought::Named { kind, name },
        (Some(kind), None, false) => Sought::Kind(kind),
        (None, None, true) => Sought::Phase,
        _ => return Err(Problem::bad("`kind`, `kind` with `name`, or `phase=true` says what is sought")),
    };
    let found = api.gateway.host().tapes().store().newest(tape.name(), &sought, asked.before).await?;
    Ok(page::as_lines(found.as_slice()))
}

/// Which names: behind one, so many.
#[derive(Debug, Deserialize)]
pub(crate) struct Names {
    after: Option<String>,
    max: Option<usize>,
}

/// Names of tapes. Those of whoever reaches only some sessions are told by `/v1/sessions`.
pub(crate) async fn names(Caller { api, bearer }: Caller, Asked(asked): Asked<Names>) -> Result<Json<Value>, Problem> {
    bearer.needs(Scope::Read)?;
    if !bearer.reach.is_empty() {
        let (name, reach) = (&bearer.name, bearer.reach.escape_debug());
        return Err(Problem::forbidden(format!(
            "token `{name}` reaches only sessions that begin with `{reach}`: `/v1/sessions` lists them"
        )));
    }
    let most = asked.max.unwrap_or(MOST).min(MOST);
    let names = api.gateway.host().tapes().store().list(asked.after.as_deref(), most).await?;
    Ok(Json(json!({ "names": names })))
}

/// Names of what plugins keep beside a tape.
pub(crate) async fn sidecars(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(asked): Asked<Names>,
) -> Result<Json<Value>, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    let names = api.gateway.host().tapes().store().sidecars(tape.name()).await?;
    let behind = names.into_iter().filter(|name| asked.after.as_ref().is_none_or(|after| name > after));
    let names: Vec<String> = behind.take(asked.max.unwrap_or(MOST).min(MOST)).collect();
    Ok(Json(json!({ "names": names })))
}

/// Under which name a reset would keep the tape now.
pub(crate) async fn archive_name(Caller { api, bearer }: Caller, Named(name): Named) -> Result<Json<Value>, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    let name = api.gateway.host().tapes().store().archive_name(tape.name()).await?;
    Ok(Json(json!({ "name": name })))
}
