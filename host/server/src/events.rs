//! `GET /v1/events`: the event bus as a stream of server-sent events.

use super::ApiError;
use super::extract::Caller;
use super::token::Bearer;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_runtime::host::{EventRecord, RuntimeEvent};
use futures_util::stream;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Streams the events in the scope of the token until it is revoked. A slow reader gets the number of events it missed.
pub(super) async fn events(Caller { api, bearer }: Caller) -> Result<Response, ApiError> {
    bearer.needs(Scope::Read)?;
    // A stream holds its connection for good, so their number is bounded.
    let Ok(permit) = Arc::clone(&api.event_streams).try_acquire_owned() else {
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many clients read `/v1/events`"));
    };
    let reader = api.gateway.host().events.subscribe();
    let first = Some(Event::default().event("ready").data("{}"));
    let lease = api.auth.lease(bearer);
    let events = stream::unfold((reader, first, lease, permit), async |(mut reader, first, mut lease, permit)| {
        let event = match first {
            // Every event after this one is sent.
            Some(first) => first,
            None => loop {
                let next = tokio::select! {
                    next = reader.next() => next,
                    () = lease.revoked() => return None,
                };
                match next {
                    Ok(record) if !is_in_scope(&lease.bearer, &record.session) => {}
                    Ok(record) => {
                        let (name, data) = to_json(&record);
                        break Event::default().event(name).data(data.to_string());
                    }
                    Err(missed) => {
                        break Event::default().event("missed").data(json!({ "count": missed }).to_string());
                    }
                }
            },
        };
        Some((Ok::<_, Infallible>(event), (reader, None, lease, permit)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

/// Events without a session are for tokens that reach all sessions.
fn is_in_scope(bearer: &Bearer, session: &str) -> bool {
    session.starts_with(&bearer.session_prefix)
}

/// The name and the data of an event.
fn to_json(record: &EventRecord) -> (&'static str, Value) {
    let milliseconds = |took: &Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let (name, mut data) = match &record.event {
        RuntimeEvent::Taken { channel } => ("message-taken", json!({ "channel": channel })),
        RuntimeEvent::Refused { channel, reason } => {
            ("message-refused", json!({ "channel": channel, "reason": reason }))
        }
        RuntimeEvent::TurnBegins => ("turn-begins", json!({})),
        RuntimeEvent::TurnEnds { took, usage, error } => {
            let usage = super::dto::usage(usage);
            ("turn-ends", json!({ "took_ms": milliseconds(took), "usage": usage, "error": error }))
        }
        RuntimeEvent::ToolBegins { tool } => ("tool-begins", json!({ "tool": tool })),
        RuntimeEvent::ToolEnds { took, error } => {
            ("tool-ends", json!({ "took_ms": milliseconds(took), "error": error }))
        }
        RuntimeEvent::Fault { plugin, hook, what } => {
            ("plugin-fault", json!({ "plugin": plugin, "hook": hook, "fault": what }))
        }
        RuntimeEvent::Denied { plugin, grant } => ("plugin-denied", json!({ "plugin": plugin, "grant": grant })),
        RuntimeEvent::QuotaExceeded { caller, quota } => {
            ("quota-exceeded", json!({ "caller": caller, "quota": quota }))
        }
        RuntimeEvent::Delivered { channel, error } => ("delivered", json!({ "channel": channel, "error": error })),
    };
    if !record.session.is_empty() {
        data["session_id"] = record.session.as_str().into();
    }
    (name, data)
}
