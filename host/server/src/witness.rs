//! `/v1/witness`: the signed heads of other homes, one list for each token.

use super::ApiError;
use super::body::{self, CallerClass};
use super::extract::{Caller, QueryParams};
use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_audit::{NotTaken, WitnessLists};
use bub_config::Scope;
use serde::Deserialize;
use serde_json::json;

/// The longest delivery, in bytes. A home sends less at once.
const MAX_DELIVERY: usize = 1 << 20;

/// The header with the bytes of the whole list.
const LENGTH: &str = "bub-witness-bytes";

/// Where a reader goes on.
#[derive(Deserialize)]
pub(super) struct From {
    #[serde(default)]
    from: u64,
}

/// `POST /v1/witness`: takes signed heads that go on where the list of the token ends.
pub(super) async fn post(Caller { api, bearer }: Caller, body: Body) -> Result<Response, ApiError> {
    bearer.needs(Scope::Witness)?;
    let received = body::read(&api, body, CallerClass::from_bearer(&bearer), MAX_DELIVERY).await?;
    let lists = WitnessLists::new(api.gateway.host().config.witness_dir());
    let taken = tokio::task::spawn_blocking(move || {
        let text = std::str::from_utf8(&received.bytes).map_err(|_| NotTaken::Invalid(1))?;
        lists.append(&bearer.name, text)
    });
    let taken = taken.await.map_err(|error| ApiError::internal(&error))?.map_err(refused)?;
    Ok(Json(json!({ "added": taken.added, "bytes": taken.bytes })).into_response())
}

/// `GET /v1/witness`: whole lines of the list of the token, at most 1 MiB of them.
pub(super) async fn read(
    Caller { api, bearer }: Caller,
    QueryParams(From { from }): QueryParams<From>,
) -> Result<Response, ApiError> {
    bearer.needs(Scope::Witness)?;
    let lists = WitnessLists::new(api.gateway.host().config.witness_dir());
    let read = tokio::task::spawn_blocking(move || lists.read(&bearer.name, from));
    let read = read.await.map_err(|error| ApiError::internal(&error))?;
    let (lines, bytes) = read.map_err(|error| ApiError::internal(&error))?;
    let headers = [(header::CONTENT_TYPE.as_str(), "application/x-ndjson"), (LENGTH, &bytes.to_string())];
    Ok((headers, lines).into_response())
}

fn refused(reason: NotTaken) -> ApiError {
    match reason {
        NotTaken::Invalid(line) => ApiError::bad_request(format!(
            "line {line} is no signed head that names the line before it; send `audit/heads.jsonl` of a home as it is"
        )),
        NotTaken::Forked => ApiError::new(
            StatusCode::CONFLICT,
            "witnessed_otherwise",
            "the list of this token goes on differently: heads were cut off in the home, or the token is another home's",
        ),
        NotTaken::Full => ApiError::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "list_full",
            "the list of this token is full; go on with a new token",
        ),
        NotTaken::Failed(error) => ApiError::internal(&error),
    }
}
