//! Streams of server-sent events that last until their token is revoked.

use super::auth::AuthLease;
use super::{Api, ApiError};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// The pause before events are read again from a database that did not answer.
const RETRY: Duration = Duration::from_secs(1);

/// The source that a stream reads.
pub(super) trait Source: Send + 'static {
    /// The name of the source, for the log.
    const NAME: &str;

    /// Waits for the next events; cancel safe. After an error it is asked again.
    fn next(&mut self) -> impl Future<Output = anyhow::Result<Vec<Event>>> + Send;
}

/// A place among the streams of the server: each holds its connection for good, so their number is bounded.
pub(super) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
}

impl StreamPermit {
    /// # Errors
    ///
    /// All places are taken.
    pub(super) fn acquire(api: &Api) -> Result<Self, ApiError> {
        let permit = Arc::clone(&api.event_streams).try_acquire_owned();
        let busy =
            |_| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many clients read streams of events");
        permit.map(|permit| Self { _permit: permit }).map_err(busy)
    }
}

struct State<S> {
    source: S,
    ready: VecDeque<Event>,
    lease: AuthLease,
    _permit: StreamPermit,
}

/// Streams `ready`, and then what the source has.
pub(super) fn respond(lease: AuthLease, permit: StreamPermit, source: impl Source) -> Response {
    let ready = VecDeque::from([Event::default().event("ready").data("{}")]);
    let state = State { source, ready, lease, _permit: permit };
    let events = stream::unfold(state, async |mut state| {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(event), state))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

impl<S: Source> State<S> {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let events = tokio::select! {
                events = self.source.next() => events,
                () = self.lease.revoked() => return None,
            };
            match events {
                Ok(events) => self.ready.extend(events),
                Err(error) => {
                    tracing::warn!("readers of {} wait: {error:#}", S::NAME);
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}
