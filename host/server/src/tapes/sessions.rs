//! The list of sessions, their names, and their phases.

use super::super::extract::{Caller, PathName, QueryParams};
use super::super::{Api, ApiError};
use super::read::{ListParams, MAX_ITEMS};
use super::{existing, session_change};
use axum::Json;
use axum::body::Body;
use bub_config::Scope;
use bub_gateway::HTTP;
use bub_runtime::turn::TAINTED;
use bub_tape::{Draft, SessionSummary, name_session};
use bub_types::Principal;
use serde::Deserialize;
use serde_json::{Value, json};

/// The largest body, in bytes.
const MAX_BODY: usize = 1 << 20;

/// The longest name of an anchor, in characters.
const MAX_ANCHOR: usize = 200;

/// `GET /v1/sessions`: the sessions that the token reaches, without those whose tapes are empty, as after an archive.
pub(crate) async fn sessions(
    Caller { api, bearer }: Caller,
    QueryParams(params): QueryParams<ListParams>,
) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let max = params.max.unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
    let _permit = api.scan_permit().await;
    let (mut sessions, mut after) = (Vec::new(), params.after);
    let has_more = 'pages: loop {
        let found = api.gateway.sessions(&bearer.session_prefix, after.as_deref(), max + 1).await?;
        let is_last = found.len() <= max;
        after = found.last().map(|(session, _)| session.clone());
        for row in rows(&api, found).await? {
            if sessions.len() == max {
                break 'pages true;
            }
            sessions.push(row);
        }
        if is_last {
            break false;
        }
    };
    Ok(Json(json!({ "sessions": sessions, "more": has_more })))
}

/// The rows of those sessions that have entries, or messages that wait.
async fn rows(api: &Api, sessions: Vec<(String, String)>) -> Result<Vec<Value>, ApiError> {
    let loads = api.gateway.loads_of(&sessions).await?;
    let tapes: Vec<String> = sessions.iter().map(|(_, tape)| tape.clone()).collect();
    let summaries = api.gateway.host().tapes().session_summaries(&tapes).await?;
    let mut rows = Vec::with_capacity(sessions.len());
    for (((session, tape), (is_running, waiting)), summary) in sessions.into_iter().zip(loads).zip(summaries) {
        let SessionSummary { name, first_words, entries, date, tokens, .. } = summary;
        if entries == 0 && !is_running && waiting == 0 {
            continue;
        }
        rows.push(json!({
            "session_id": session,
            "tape": tape,
            "name": name,
            "first_words": first_words,
            "entries": entries,
            "last_date": date,
            "tokens": tokens,
            "running": is_running,
            "waiting": waiting,
        }));
    }
    Ok(rows)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameRequest {
    name: String,
}

/// `POST /v1/sessions/{session}/name`: names a session between two of its turns.
pub(crate) async fn name(
    Caller { api, bearer }: Caller,
    PathName(named): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let convert = |request: NameRequest| {
        name_session(&request.name)?;
        Ok(request.name.trim().to_owned())
    };
    let (session, (name, _charge)) = session_change(&api, &bearer, named, (sent, MAX_BODY), convert).await?;
    let tape = existing(&api, &session).await?;
    bearer.charge_bytes(&api, name.len()).await?;
    let (tapes, new_name) = (api.gateway.host().tapes(), name.clone());
    api.gateway.complete(async move { tapes.rename(tape.name(), &new_name).await }).await??;
    Ok(Json(json!({ "session_id": session, "name": (!name.is_empty()).then_some(name) })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandoffRequest {
    name: String,
    summary: Option<String>,
}

/// `POST /v1/sessions/{session}/handoff`: begins a phase between two turns, with the summary in place of what was said.
pub(crate) async fn handoff(
    Caller { api, bearer }: Caller,
    PathName(named): PathName,
    sent: Body,
) -> Result<Json<Value>, ApiError> {
    let convert = |HandoffRequest { name, summary }: HandoffRequest| {
        check_anchor(&name)?;
        let state = summary.filter(|summary| !summary.is_empty());
        Ok((name, state.map(|summary| json!({ "summary": summary }).to_string())))
    };
    let (session, (change, _charge)) = session_change(&api, &bearer, named, (sent, MAX_BODY), convert).await?;
    let (anchor, state) = change;
    let tape = existing(&api, &session).await?;
    bearer.charge_bytes(&api, 2 * (anchor.len() + state.as_ref().map_or(0, String::len))).await?;
    let taint = match bearer.identity().principal {
        Principal::Owner => Vec::new(),
        _ => vec![foreign()?],
    };
    let tapes = api.gateway.host().tapes();
    let written = async move { tapes.handoff(tape.name(), &anchor, state.as_deref(), taint).await };
    let (id, _) = api.gateway.complete(written).await??;
    Ok(Json(json!({ "session_id": session, "anchor": id })))
}

fn check_anchor(name: &str) -> Result<(), ApiError> {
    if name.chars().count() > MAX_ANCHOR || name.chars().any(char::is_control) {
        let message = format!("the `name` of an anchor is one line of at most {MAX_ANCHOR} characters");
        return Err(ApiError::invalid_param("name", message));
    }
    let [anchor, _] = bub_tape::handoff(name, None)?;
    if !anchor.numbered(1).begins_phase() {
        return Err(ApiError::invalid_param("name", "an anchor of this `name` belongs to a plugin's section"));
    }
    Ok(())
}

/// States that text of another author than the owner is in the conversation. An anchor that the owner writes ends that.
fn foreign() -> Result<Draft, ApiError> {
    let why = format!("a sender other than the owner wrote the anchor, on channel `{HTTP}`");
    let data = json!({ "why": why, "sources": [format!("channel:{HTTP}")] });
    Ok(bub_tape::event(TAINTED, &data.to_string())?.with_meta("context", "false")?)
}
