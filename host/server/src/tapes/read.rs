//! What stands on tapes, for people and their programs.

use super::super::extract::{Asked, Caller, Named};
use super::super::{Api, Problem};
use super::page::{Page, Range, as_json, entry};
use super::{by_name, by_session};
use axum::Json;
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_tape::{Query, Search, Tape};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;

/// Sessions, anchors and hits of one answer, unless it says how many.
const SHOWN: usize = 20;

/// The most of them.
const MOST: usize = 256;

/// How long a search may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which sessions: behind one, so many.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    after: Option<String>,
    max: Option<usize>,
}

/// The sessions that somebody reaches.
pub(crate) async fn sessions(
    Caller { api, bearer }: Caller,
    Asked(asked): Asked<Listed>,
) -> Result<Json<Value>, Problem> {
    bearer.needs(Scope::Read)?;
    let most = asked.max.unwrap_or(MOST).min(MOST);
    let mut found = api.gateway.sessions(&bearer.reach, asked.after.as_deref(), most + 1);
    let has_more = found.len() > most;
    found.truncate(most);
    let tapes = api.gateway.host().tapes();
    let mut sessions = Vec::with_capacity(found.len());
    for (session, tape) in found {
        let last = tapes.store().tail(&tape, None, 1).await?.pop();
        let (is_running, waiting) = api.gateway.load_of(&session);
        sessions.push(json!({
            "session_id": session,
            "tape": tape,
            "entries": last.as_ref().map_or(0, |last| last.id),
            "last_date": last.as_ref().map(|last| &*last.date),
            "running": is_running,
            "waiting": waiting,
        }));
    }
    Ok(Json(json!({ "sessions": sessions, "more": has_more })))
}

/// What a tape amounts to.
pub(crate) async fn tape(Caller { api, bearer }: Caller, Named(name): Named) -> Result<Json<Value>, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    let session = api.gateway.session_of(tape.name());
    about(&api, session, &tape).await
}

/// What a session's tape amounts to.
pub(crate) async fn session(Caller { api, bearer }: Caller, Named(session): Named) -> Result<Json<Value>, Problem> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    about(&api, Some(session), &tape).await
}

async fn about(api: &Api, session: Option<String>, tape: &Tape) -> Result<Json<Value>, Problem> {
    let _place = api.look().await;
    let info = tape.info().await?;
    let (is_running, waiting) = session.as_deref().map_or((false, 0), |session| api.gateway.load_of(session));
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
    more: bool,
}

/// A stretch of a tape as JSON.
pub(super) fn page(tape: &str, session: Option<&str>, page: &Page) -> Response {
    Json(Entries { tape, session_id: session, entries: as_json(&page.entries), more: page.has_more }).into_response()
}

/// A stretch of a session's tape.
pub(crate) async fn entries(
    Caller { api, bearer }: Caller,
    Named(session): Named,
    Asked(range): Asked<Range>,
) -> Result<Response, Problem> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let mut found = range.read(&**api.gateway.host().tapes().store(), tape.name()).await?;
    let forgotten = tape.forgotten().await?;
    found.entries = found.entries.into_iter().map(|entry| forgotten.shown(entry)).collect();
    Ok(page(tape.name(), Some(&session), &found))
}

/// How many anchors.
#[derive(Debug, Deserialize)]
pub(crate) struct Anchors {
    max: Option<usize>,
}

/// The newest anchors of a tape.
pub(crate) async fn anchors(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(asked): Asked<Anchors>,
) -> Result<Json<Value>, Problem> {
    anchors_of(&api, &by_name(&api, &bearer, &name)?, &asked).await
}

/// The newest anchors of a session.
pub(crate) async fn session_anchors(
    Caller { api, bearer }: Caller,
    Named(session): Named,
    Asked(asked): Asked<Anchors>,
) -> Result<Json<Value>, Problem> {
    anchors_of(&api, &by_session(&api, &bearer, session).await?.1, &asked).await
}

async fn anchors_of(api: &Api, tape: &Tape, asked: &Anchors) -> Result<Json<Value>, Problem> {
    let _place = api.look().await;
    let limit = Some(asked.max.unwrap_or(SHOWN).min(MOST));
    let query = Query { kinds: vec!["anchor".to_owned()], newest_first: true, limit, ..Query::default() };
    let mut anchors = tape.query(&query).await?;
    anchors.reverse();
    Ok(Json(json!({ "tape": tape.name(), "anchors": as_json(&anchors) })))
}

/// What is looked for on a tape.
#[derive(Debug, Deserialize)]
pub(crate) struct Sought {
    q: String,
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
    max: Option<usize>,
}

/// What is found on a tape.
pub(crate) async fn search(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(sought): Asked<Sought>,
) -> Result<Json<Value>, Problem> {
    search_in(&api, &by_name(&api, &bearer, &name)?, sought).await
}

/// What is found in a session.
pub(crate) async fn session_search(
    Caller { api, bearer }: Caller,
    Named(session): Named,
    Asked(sought): Asked<Sought>,
) -> Result<Json<Value>, Problem> {
    search_in(&api, &by_session(&api, &bearer, session).await?.1, sought).await
}

async fn search_in(api: &Api, tape: &Tape, sought: Sought) -> Result<Json<Value>, Problem> {
    let _place = api.look().await;
    let kinds = sought.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::to_owned).collect();
    let search = Search {
        text: sought.q,
        kinds,
        since: sought.since,
        until: sought.until,
        limit: sought.max.unwrap_or(SHOWN).min(MOST),
        patience: Some(PATIENCE),
        ..Search::default()
    };
    let hits = tape.search(&search).await?;
    let hits: Vec<Value> = hits.iter().map(|hit| json!({ "score": hit.score, "entry": entry(&hit.entry) })).collect();
    Ok(Json(json!({ "tape": tape.name(), "hits": hits })))
}
