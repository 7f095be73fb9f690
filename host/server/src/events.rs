//! `GET /v1/events`: the events of all turns as a stream of server-sent events.

use super::ApiError;
use super::extract::{Caller, QueryParams};
use super::sse::{self, Source, StreamPermit};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use bub_config::Scope;
use bub_gateway::{Batch, EventReader, LoggedEvent};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// The most events of one batch, where a stream has an interval.
const MAX_BATCH: usize = 64;

/// The longest interval, in milliseconds: a reader should not take the stream for dead.
const MAX_INTERVAL: u64 = 10_000;

/// Where a stream begins, and its pace.
#[derive(Debug, Deserialize)]
pub(super) struct EventParams {
    /// The `id` of an event, after which it begins. A browser sends it as `Last-Event-ID`.
    after: Option<i64>,
    /// The time between two batches, in milliseconds.
    interval: Option<u64>,
}

/// Streams the events in the scope of the token until it is revoked. A reader that was cut off goes on behind the last event
/// that it has, at any worker; it gets the number of events that are not kept any more.
pub(super) async fn events(
    Caller { api, bearer }: Caller,
    QueryParams(params): QueryParams<EventParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    bearer.needs(Scope::Read)?;
    let after = match (params.after, headers.get("last-event-id")) {
        (None, Some(id)) => {
            let id = id.to_str().ok().and_then(|id| id.parse().ok());
            Some(id.ok_or_else(|| ApiError::bad_request("`Last-Event-ID` is the id of an event of this stream"))?)
        }
        (after, _) => after,
    };
    let interval = match params.interval {
        Some(interval) if !(1..=MAX_INTERVAL).contains(&interval) => {
            return Err(ApiError::bad_request(format!(
                "`interval` is a number of milliseconds from 1 to {MAX_INTERVAL}"
            )));
        }
        interval => interval.map(Duration::from_millis),
    };
    let permit = StreamPermit::acquire(&api)?;
    let reader = api.gateway.read_events(after).await?;
    let session_prefix = bearer.session_prefix.clone();
    let source = EventSource { reader, session_prefix, interval, next: Instant::now() };
    Ok(sse::respond(api.auth.lease(bearer), permit, source))
}

/// The events in the scope of a token.
struct EventSource {
    reader: EventReader,
    session_prefix: String,
    interval: Option<Duration>,
    /// The next batch is not read before.
    next: Instant,
}

impl Source for EventSource {
    const NAME: &str = "`/v1/events`";

    async fn next(&mut self) -> anyhow::Result<Vec<Event>> {
        let newest = self.interval.map(|_| MAX_BATCH);
        tokio::time::sleep_until(self.next).await;
        let Batch { missed, events } = self.reader.next(newest).await?;
        self.next = Instant::now() + self.interval.unwrap_or_default();
        let missed = match missed {
            Some(0) => None,
            missed => Some(Event::default().event("missed").data(json!({ "count": missed }).to_string())),
        };
        // Events without a session are for tokens that reach all sessions.
        let is_in_scope = |event: &LoggedEvent| event.session.starts_with(&self.session_prefix);
        let events = events.into_iter().filter(is_in_scope).map(|event| {
            let LoggedEvent { cursor, name, data, .. } = event;
            Event::default().id(cursor.to_string()).event(name).data(data)
        });
        Ok(missed.into_iter().chain(events).collect())
    }
}
