//! `/v1/tapes` and `/v1/sessions`: what stands on tapes, by their names or by their sessions.
//!
//! Under their names tapes are also kept for other hosts, as `guests/tapes-http/README.md` says.

mod candidates;
mod context;
mod page;
mod protocol;
mod read;
mod write;

use super::token::Bearer;
use super::{Api, Problem, turns};
use bub_config::Scope;
use bub_tape::{Tape, check_tape_name, is_workspace_tape, tape_name};

pub(super) use candidates::query;
pub(super) use context::{of_session as session_context, of_tape as context};
pub(super) use protocol::{archive_name, entries as lines, names, newest, sidecars};
pub(super) use read::{anchors, entries, search, session, session_anchors, session_search, sessions, tape};
pub(super) use write::{Answered, write};

/// The tape of that name, for somebody who may read it.
fn by_name(api: &Api, bearer: &Bearer, name: &str) -> Result<Tape, Problem> {
    bearer.needs(Scope::Read)?;
    reaches(api, bearer, name)?;
    Ok(api.gateway.host().tapes().open(name)?.without_forgotten())
}

/// Whose tape that is says nobody but the gateway, and it knows the sessions that were spoken in through it. Whoever reaches
/// only some sessions is told the same of a tape that is not there and of one that is somebody else's.
fn reaches(api: &Api, bearer: &Bearer, name: &str) -> Result<(), Problem> {
    check_tape_name(name)?;
    // What its sessions share holds the owner's memory.
    if is_workspace_tape(name) && !bearer.is_trusted() {
        return Err(Problem::forbidden(format!("token `{}` does not reach this tape", bearer.name)));
    }
    if bearer.reach.is_empty() {
        return Ok(());
    }
    // A sidecar belongs to the session of its tape.
    let family = name.split_once("__sidecar__").map_or(name, |(family, _)| family);
    match api.gateway.session_of(family) {
        Some(session) if session.starts_with(&bearer.reach) => Ok(()),
        _ => Err(Problem::forbidden(format!("token `{}` does not reach this tape", bearer.name))),
    }
}

/// The session of that id with its tape, for somebody who may read it.
async fn by_session(api: &Api, bearer: &Bearer, session: String) -> Result<(String, Tape), Problem> {
    bearer.needs(Scope::Read)?;
    let session = turns::session(bearer, Some(session), "")?;
    let host = api.gateway.host();
    let tape = host.tapes().open(&tape_name(&host.workspace, &session))?.without_forgotten();
    if tape.last_id().await? == 0 {
        return Err(Problem::not_found("nothing was said in this session"));
    }
    Ok((session, tape))
}
