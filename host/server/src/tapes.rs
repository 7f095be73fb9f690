//! `/v1/tapes` and `/v1/sessions`: tapes by their names or by their sessions.
//!
//! `/v1/tapes` is also the tape store of other hosts; `guests/tapes-http/README.md` defines that protocol.

mod archive;
mod candidates;
mod context;
mod decisions;
mod durations;
mod export;
mod fork;
mod outline;
mod page;
mod protocol;
mod read;
mod sessions;
mod write;

use super::body::{self, BodyCharge, CallerClass};
use super::token::Bearer;
use super::{Api, ApiError, turns};
use axum::body::Body;
use bub_config::Scope;
use bub_tape::{Tape, check_tape_name, is_workspace_tape, tape_name};
use serde::de::DeserializeOwned;

pub(super) use archive::archive;
pub(super) use candidates::query;
pub(super) use context::{blame, selection, session_context, tape_context as context};
pub(super) use decisions::{decision, decisions};
pub(super) use export::export;
pub(super) use fork::fork;
pub(super) use outline::outline;
pub(super) use protocol::{archive_name, entries as lines, names, newest, sidecars};
pub(super) use read::{anchors, entries, search, session, session_anchors, session_search, tape};
pub(super) use sessions::{handoff, name, sessions};
pub(super) use write::{WriteDedup, write};

/// Opens the tape of that name, if the caller may read it.
async fn by_name(api: &Api, bearer: &Bearer, name: &str) -> Result<Tape, ApiError> {
    bearer.needs(Scope::Read)?;
    check_reach(api, bearer, name).await?;
    Ok(api.gateway.host().tapes().open(name)?.without_forgotten())
}

/// Checks that the caller reaches a tape. Only the gateway knows the session of a tape. To a caller with a session prefix,
/// a tape that does not exist and one that is out of scope look the same.
async fn check_reach(api: &Api, bearer: &Bearer, name: &str) -> Result<(), ApiError> {
    check_tape_name(name)?;
    // The tape that the sessions of a workspace share holds the owner's memory.
    if is_workspace_tape(name) && !bearer.is_trusted() {
        return Err(ApiError::forbidden(format!("token `{}` does not reach this tape", bearer.name)));
    }
    if bearer.session_prefix.is_empty() {
        return Ok(());
    }
    // A sidecar belongs to the session of its tape.
    let family = name.split_once("__sidecar__").map_or(name, |(family, _)| family);
    match api.gateway.session_of(family).await? {
        Some(session) if session.starts_with(&bearer.session_prefix) => Ok(()),
        _ => Err(ApiError::forbidden(format!("token `{}` does not reach this tape", bearer.name))),
    }
}

/// Opens the tape of a session, if the caller may read it.
async fn by_session(api: &Api, bearer: &Bearer, session: String) -> Result<(String, Tape), ApiError> {
    bearer.needs(Scope::Read)?;
    let session = turns::session(bearer, Some(session), "")?;
    let tape = existing(api, &session).await?;
    Ok((session, tape))
}

/// Reads a change of a session that the caller may make.
///
/// # Errors
///
/// The caller may not make it, or its body does not fit.
async fn session_change<T, R>(
    api: &Api,
    bearer: &Bearer,
    named: String,
    (sent, max): (Body, usize),
    convert: impl FnOnce(T) -> Result<R, ApiError> + Send + 'static,
) -> Result<(String, (R, BodyCharge)), ApiError>
where
    T: DeserializeOwned,
    R: Send + 'static,
{
    bearer.needs(Scope::Turns)?;
    let session = turns::session(bearer, Some(named), "")?;
    let change = body::json(api, sent, (CallerClass::from_bearer(bearer), max), convert).await?;
    Ok((session, change))
}

/// Opens the tape of a session that the caller reaches.
///
/// # Errors
///
/// The session has no messages.
async fn existing(api: &Api, session: &str) -> Result<Tape, ApiError> {
    let host = api.gateway.host();
    let tape = host.tapes().open(&tape_name(&host.workspace, session))?.without_forgotten();
    if tape.last_id().await? == 0 {
        return Err(ApiError::not_found("this session has no messages"));
    }
    Ok(tape)
}
