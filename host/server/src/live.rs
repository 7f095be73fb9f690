//! `GET /v1/events`: what happens, as it happens.

use super::Problem;
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

/// Everything that the reader's token reaches, for as long as the token does. Who reads slowly is told how much was missed.
pub(super) async fn events(Caller { api, bearer }: Caller) -> Result<Response, Problem> {
    bearer.needs(Scope::Read)?;
    // A connection that is held for good is taken from those that ask.
    let Ok(place) = Arc::clone(&api.readers).try_acquire_owned() else {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many read `/v1/events` already"));
    };
    let reader = api.gateway.host().news.read();
    let begun = Some(Event::default().event("ready").data("{}"));
    let inside = api.door.inside(bearer);
    let events = stream::unfold((reader, begun, inside, place), async |(mut reader, begun, mut inside, place)| {
        let event = match begun {
            // What happens from here on is told.
            Some(begun) => begun,
            None => loop {
                let next = tokio::select! {
                    next = reader.next() => next,
                    () = inside.is_over() => return None,
                };
                match next {
                    Ok(heard) if !reaches(&inside.bearer, &heard.session) => {}
                    Ok(heard) => {
                        let (name, data) = told(&heard);
                        break Event::default().event(name).data(data.to_string());
                    }
                    Err(missed) => {
                        break Event::default().event("missed").data(json!({ "count": missed }).to_string());
                    }
                }
            },
        };
        Some((Ok::<_, Infallible>(event), (reader, None, inside, place)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

/// What is of no session is for those who reach all.
fn reaches(bearer: &Bearer, session: &str) -> bool {
    session.starts_with(&bearer.reach)
}

/// The event's name, and what it says.
fn told(heard: &EventRecord) -> (&'static str, Value) {
    let milliseconds = |took: &Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let (name, mut data) = match &heard.news {
        RuntimeEvent::Taken { channel } => ("message-taken", json!({ "channel": channel })),
        RuntimeEvent::Refused { channel, reason } => {
            ("message-refused", json!({ "channel": channel, "reason": reason }))
        }
        RuntimeEvent::TurnBegins => ("turn-begins", json!({})),
        RuntimeEvent::TurnEnds { took, usage, error } => {
            let usage = super::wire::usage(usage);
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
    if !heard.session.is_empty() {
        data["session_id"] = heard.session.as_str().into();
    }
    (name, data)
}
