//! `POST /v1/sessions/{session}/fork`: `tape fork` over HTTP.

use super::super::extract::{Caller, PathName};
use super::super::secrets::{random_bytes, to_hex};
use super::super::token::Bearer;
use super::super::{Api, ApiError, turns};
use super::{existing, session_change};
use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use bub_gateway::HTTP;
use bub_tape::{Error, SessionMark, TapeCopy, tape_name};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The largest body, in bytes.
const MAX_BODY: usize = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkRequest {
    through: u64,
    session_id: Option<String>,
}

/// Makes a session with the entries of another, up to and including `through`.
pub(crate) async fn fork(
    Caller { api, bearer }: Caller,
    PathName(named): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let (session, (request, _charge)) = session_change(&api, &bearer, named, (sent, MAX_BODY), Ok).await?;
    let ForkRequest { through, session_id } = request;
    let new = match session_id {
        Some(session_id) => session_id,
        None => random_id(&bearer, &session)?,
    };
    let new = turns::session(&bearer, Some(new), "")?;
    let tape = existing(&api, &session).await?;
    let host = api.gateway.host();
    let to = tape_name(&host.workspace, &new);
    let channel = tape.session_mark().await?.map_or_else(|| HTTP.to_owned(), |mark| mark.channel);
    let mark = SessionMark { id: new.clone(), workspace: host.workspace.to_string_lossy().into_owned(), channel };
    let (gateway, session_id) = (Arc::clone(&api.gateway), new.clone());
    let work = async move {
        let tapes = host.tapes();
        let begun = tapes.copy(tape.name(), &to, Some(through), Some(mark)).await.map_err(|error| match error {
            Error::NotFound(message) => ApiError::invalid_param("through", message),
            error => error.into(),
        });
        let Some(mut copy) = begun? else { return Err(exists()) };
        match fill(&api, &bearer, &mut copy, &session_id).await {
            Ok(()) => drop(copy.finish().await?),
            Err(error) => {
                if let Err(error) = copy.discard().await {
                    tracing::error!("an incomplete copy stays on tape `{to}`: {error}");
                }
                return Err(error);
            }
        }
        if let Err(error) = tapes.store().index(&to).await {
            tracing::debug!("tape `{to}` is not indexed: {error}");
        }
        Ok(())
    };
    gateway.complete(work).await??;
    Ok(Json(json!({ "session_id": new })))
}

/// Copies all entries, and charges them to the bearer.
async fn fill(api: &Api, bearer: &Bearer, copy: &mut TapeCopy, session: &str) -> Result<(), ApiError> {
    let started = api.gateway.start_session(session, &bearer.quota_account()).await;
    started.map_err(|refusal| bearer.refused(api, refusal))?;
    while let Some(page) = copy.step().await? {
        bearer.charge_bytes(api, page.bytes).await?;
    }
    Ok(())
}

fn exists() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "session_exists", "there is a session of this id already")
}

/// An id in the channel of that session, within the token's prefix.
fn random_id(bearer: &Bearer, session: &str) -> Result<String, ApiError> {
    let random = to_hex(&random_bytes::<6>()?);
    let channel = session.split_once(':').map_or(HTTP, |(channel, _)| channel);
    let id = format!("{channel}:{random}");
    Ok(if id.starts_with(&bearer.session_prefix) { id } else { format!("{}{HTTP}:{random}", bearer.session_prefix) })
}
