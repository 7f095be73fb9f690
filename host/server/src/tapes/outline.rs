//! `GET /v1/sessions/{session}/outline`: counts by kind, and the newest anchors.

use super::super::ApiError;
use super::super::extract::{Caller, PathName};
use super::by_session;
use axum::Json;
use bub_tape::TapeOutline;
use serde_json::{Value, json};

/// The outline of a session's tape.
pub(crate) async fn outline(
    Caller { api, bearer }: Caller,
    PathName(session): PathName,
) -> Result<Json<Value>, ApiError> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    let _permit = api.scan_permit().await;
    let TapeOutline { entries, first, last, kinds, anchors } = TapeOutline::read(&tape).await?;
    let anchors: Vec<Value> =
        anchors.iter().map(|anchor| json!({ "id": anchor.id, "name": anchor.name, "date": anchor.date })).collect();
    Ok(Json(json!({
        "session_id": session,
        "entries": entries,
        "first": first,
        "last": last,
        "kinds": kinds,
        "anchors": anchors,
    })))
}
