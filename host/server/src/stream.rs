//! `GET /v1/sessions/{session}/stream`: the turns of a session as a stream of server-sent events, at whichever worker they
//! run.

use super::extract::{Caller, PathName};
use super::sse::{self, Source, StreamPermit};
use super::turns::session;
use super::{ApiError, dto};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use bub_config::Scope;
use bub_gateway::{StreamBatch, StreamItem, StreamPosition, TurnFollower};
use serde_json::{Value, json};

/// Streams the turn that runs in a session, from its beginning, and those that begin later, until the token is revoked. A
/// reader that was cut off goes on behind the last event that it has, at any worker.
pub(super) async fn stream(
    Caller { api, bearer }: Caller,
    PathName(named): PathName,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    bearer.needs(Scope::Read)?;
    let session = session(&bearer, Some(named), "")?;
    let at = match headers.get("last-event-id") {
        Some(id) => Some(
            id.to_str()
                .ok()
                .and_then(position)
                .ok_or_else(|| ApiError::bad_request("`Last-Event-ID` is the id of an event of this stream"))?,
        ),
        None => None,
    };
    let permit = StreamPermit::acquire(&api)?;
    let follower = api.gateway.follow(&session, at).await?;
    Ok(sse::respond(api.auth.lease(bearer), permit, follower))
}

impl Source for TurnFollower {
    const NAME: &str = "a session's stream";

    async fn next(&mut self) -> anyhow::Result<Vec<Event>> {
        Ok(to_events(&Self::next(self).await?))
    }
}

/// Parses the id of an event: the turn, and the number of its items up to this one.
fn position(id: &str) -> Option<StreamPosition> {
    let (turn, count) = id.rsplit_once('/')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_turn = (1..=64).contains(&turn.len()) && turn.bytes().all(is_name);
    let count = count.parse().ok().filter(|_| is_turn)?;
    Some(StreamPosition { turn: turn.to_owned(), count })
}

fn to_events(batch: &StreamBatch) -> Vec<Event> {
    let missed = match batch.missed {
        0 => None,
        missed => Some(Event::default().event("missed").data(json!({ "count": missed }).to_string())),
    };
    let events = batch.items.iter().zip(batch.first + 1..).filter_map(|(item, count)| {
        let (name, data) = event(&batch.turn, item)?;
        let id = format!("{}/{count}", batch.turn);
        Some(Event::default().id(id).event(name).data(data.to_string()))
    });
    missed.into_iter().chain(events).collect()
}

/// The name and the data of an event; `None`: it is internal.
fn event(turn: &str, item: &StreamItem) -> Option<(&'static str, Value)> {
    Some(match item {
        StreamItem::Begins { .. } => ("begin", json!({ "turn": turn })),
        StreamItem::Joins { .. } => return None,
        StreamItem::Event(event) => dto::event(event),
        StreamItem::Retry { why, pause_ms } => ("retry", json!({ "reason": why, "pause_ms": pause_ms })),
        StreamItem::ToolBegins { call, name, arguments } => {
            ("tool-begins", json!({ "call": call, "tool": name, "arguments": arguments }))
        }
        StreamItem::ToolEnds { call, took_ms, error } => {
            ("tool-ends", json!({ "call": call, "took_ms": took_ms, "error": error }))
        }
        StreamItem::Ends(Some(outcome)) => ("final", Value::Object(dto::outcome(outcome))),
        StreamItem::Ends(None) => ("taken-over", json!({ "turn": turn })),
    })
}
