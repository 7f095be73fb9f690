//! The tape store protocol, queries: entries that may match a condition, for another host that checks each of them.

use super::super::ApiError;
use super::super::extract::{Caller, PathName, QueryParams};
use super::by_name;
use super::page::{self, MAX_ENTRIES};
use axum::http::HeaderValue;
use axum::response::Response;
use bub_tape::{Condition, SimilarWord, find_candidates};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A condition. Its lists are JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct ConditionParams {
    #[serde(default)]
    after: u64,
    before: Option<u64>,
    kinds: Option<String>,
    name: Option<String>,
    texts: Option<String>,
    similar: Option<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    newest_first: bool,
    max: Option<usize>,
}

/// `GET /v1/tapes/{tape}/query`: the entries that may match, as lines of JSON, and the id up to which the tape was searched.
pub(crate) async fn query(
    Caller { api, bearer }: Caller,
    PathName(name): PathName,
    QueryParams(params): QueryParams<ConditionParams>,
) -> Result<Response, ApiError> {
    let tape = by_name(&api, &bearer, &name).await?;
    let similar: Vec<(String, u8)> = list("similar", params.similar)?;
    let condition = Condition {
        after: params.after,
        before: params.before,
        kinds: list("kinds", params.kinds)?,
        name: params.name,
        texts: list("texts", params.texts)?,
        similar: similar.into_iter().map(|(text, edits)| SimilarWord { text, edits }).collect(),
        since: params.since,
        until: params.until,
        newest_first: params.newest_first,
    };
    let max = params.max.unwrap_or(MAX_ENTRIES).clamp(1, MAX_ENTRIES);
    let _permit = api.scan_permit().await;
    // Forgotten entries are included: the other host filters them itself.
    let store = api.gateway.host().tapes().store().clone();
    let found = find_candidates(&*store, tape.name(), &condition, max).await?;
    let mut response = page::to_lines(&found.entries);
    if let Some(next) = found.next {
        response.headers_mut().insert("bub-next", HeaderValue::from(next));
    }
    Ok(response)
}

/// Parses a list in a query parameter; an absent one is empty.
fn list<T: DeserializeOwned>(key: &str, json: Option<String>) -> Result<Vec<T>, ApiError> {
    let Some(json) = json else { return Ok(Vec::new()) };
    serde_json::from_str(&json).map_err(|_| {
        let example = if key == "similar" { r#"[["heron", 1]]"# } else { r#"["heron"]"# };
        ApiError::bad_request(format!("`{key}` is not a JSON list like `{example}`"))
    })
}
