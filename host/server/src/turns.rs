//! `POST /v1/turns`: submits a message, and returns or streams the outcome of its turn.

use super::body::{self, CallerClass};
use super::extract::{Caller, PathName};
use super::token::Bearer;
use super::{Api, ApiError, dto};
use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_gateway::{HTTP, Reply, Submission};
use bub_runtime::channel::{kind_of, message};
use bub_runtime::turn::TurnEvent;
use bub_telemetry::TraceContext;
use bub_types::{Envelope, StreamEvent};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// The largest body, in bytes: [20 MB of attachments](bub_runtime::channel::attach) in base64, and a long text.
const MAX_BODY: usize = 32 << 20;

/// Buffered events of a streamed turn.
const MAX_EVENTS: usize = 64;

/// How long a reader may leave an event unread. A turn waits for its listener, and must not wait for a stalled one.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnRequest {
    /// The text that the sender wrote.
    content: String,
    /// Text of other authors.
    #[serde(default)]
    passages: Vec<dto::Passage>,
    session_id: Option<String>,
    channel: Option<String>,
    chat_id: Option<String>,
    #[serde(default)]
    media: Vec<dto::Media>,
}

/// Submits a message, and returns the outcome as JSON or its events as a stream.
pub(super) async fn post(Caller { api, bearer }: Caller, headers: HeaderMap, sent: Body) -> Result<Response, ApiError> {
    bearer.needs(Scope::Turns)?;
    bearer.check_tokens(&api).await?;
    api.gateway.check_open()?;
    let limits = (CallerClass::from_bearer(&bearer), MAX_BODY);
    let convert = {
        let (headers, bearer) = (headers.clone(), bearer.clone());
        move |turn: TurnRequest| submission(&bearer, &headers, turn)
    };
    let (submission, charge) = body::json(&api, sent, limits, convert).await?;
    let submission = Submission { lease: Some(Box::new(charge)), ..submission };
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepted.contains("text/event-stream") {
        return streamed(&api, &bearer, submission).await;
    }
    let guard = CancelOnDisconnect::new(&submission);
    let reply = bearer.submit(&api, guard.attach(submission)).await?;
    let outcome = reply.outcome().await.ok_or_else(ApiError::stopping)?;
    guard.disarm();
    Ok(axum::Json(Value::Object(dto::outcome(&outcome))).into_response())
}

fn submission(bearer: &Bearer, headers: &HeaderMap, turn: TurnRequest) -> Result<Submission, ApiError> {
    let TurnRequest { content, passages, session_id, channel, chat_id, media } = turn;
    let channel = channel.unwrap_or_else(|| HTTP.to_owned());
    if channel != HTTP {
        // A message on another channel is answered there, to people.
        bearer.needs(Scope::Admin)?;
    }
    let chat_id = chat_id.unwrap_or_else(|| "default".to_owned());
    let session = session(bearer, session_id, &chat_id)?;
    let identity = bearer.identity();
    let kind = kind_of(identity.commands, &content);
    let (passages, media) = (dto::passages(passages)?, dto::media(media)?);
    dto::check_passages(kind, &passages)?;
    let message = message(Some(session), [&channel, &chat_id, &bearer.name], &content, kind);
    let message = Envelope { id: idempotency_key(bearer, headers)?, passages, media, ..message };
    let session_prefix = bearer.session_prefix.clone();
    Ok(Submission {
        message,
        identity: Some(identity),
        listener: None,
        session_prefix,
        leave: None,
        earlier: Vec::new(),
        lease: None,
        quota_account: Some(bearer.quota_account()),
        call: None,
        trace: trace(headers),
    })
}

/// `POST /v1/sessions/{session}/stop`: stops the turn that runs in the session, at whichever worker. Its client gets the
/// outcome of a turn that was cancelled.
pub(super) async fn stop(
    Caller { api, bearer }: Caller,
    PathName(named): PathName,
) -> Result<axum::Json<Value>, ApiError> {
    bearer.needs(Scope::Turns)?;
    let session = session(&bearer, Some(named), "")?;
    let stopped = api.gateway.stop_turn(&session).await?;
    Ok(axum::Json(json!({ "session_id": session, "stopped": stopped })))
}

/// The named session, or the default session of the chat within the token's prefix.
///
/// # Errors
///
/// The token does not reach it, or the name is invalid.
pub(super) fn session(bearer: &Bearer, named: Option<String>, chat_id: &str) -> Result<String, ApiError> {
    let session = named.unwrap_or_else(|| format!("{}{HTTP}:{chat_id}", bearer.session_prefix));
    let is_plain = (1..=256).contains(&session.len()) && !session.chars().any(char::is_control);
    if !is_plain || bub_types::is_ephemeral(&session) {
        return Err(ApiError::bad_request(
            "a session's id has 1 to 256 bytes, no control characters, and does not begin with `temp/`",
        ));
    }
    bearer.check_reach(&session)?;
    Ok(session)
}

/// The idempotency key of a request, unique to its token.
pub(super) fn idempotency_key(bearer: &Bearer, headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(format!("{}/{key}", bearer.name))),
        _ => Err(ApiError::bad_request("an `Idempotency-Key` has 1 to 255 visible ASCII characters")),
    }
}

/// The span of another program that a request belongs to.
pub(super) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    TraceContext::parse(headers.get(TraceContext::HEADER)?.to_str().ok()?)
}

/// Cancels a turn when it is dropped, because its client has disconnected. A message with an idempotency key can be sent
/// again, so its turn goes on.
pub(super) struct CancelOnDisconnect(Option<watch::Sender<bool>>);

impl CancelOnDisconnect {
    pub(crate) fn new(submission: &Submission) -> Self {
        Self(submission.message.id.is_none().then(|| watch::Sender::new(false)))
    }

    /// Lets this cancel the turn of a message.
    pub(crate) fn attach(&self, submission: Submission) -> Submission {
        Submission { leave: self.0.as_ref().map(watch::Sender::subscribe), ..submission }
    }

    /// The turn has ended.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDisconnect {
    fn drop(&mut self) {
        if let Some(leave) = &self.0 {
            leave.send_replace(true);
        }
    }
}

/// The events of a streamed turn, and then its outcome.
pub(super) enum TurnUpdate {
    Event(StreamEvent),
    Ended(Arc<bub_gateway::TurnOutcome>),
}

/// Submits a message and streams its turn to a reader, which may be slow.
pub(super) async fn follow(
    api: &Api,
    bearer: &Bearer,
    submission: Submission,
) -> Result<mpsc::Receiver<TurnUpdate>, ApiError> {
    let guard = CancelOnDisconnect::new(&submission);
    let (listener, mut heard) = mpsc::channel(MAX_EVENTS);
    let (sender, receiver) = mpsc::channel(MAX_EVENTS);
    let submission = Submission { listener: Some(listener), ..guard.attach(submission) };
    let reply: Reply = bearer.submit(api, submission).await?;
    tokio::spawn(async move {
        let send = async |update| matches!(timeout(READ_TIMEOUT, sender.send(update)).await, Ok(Ok(())));
        let mut is_read = true;
        loop {
            let event = tokio::select! {
                event = heard.recv() => event,
                () = sender.closed() => None,
            };
            match event {
                // The outcome follows at the end.
                Some(
                    TurnEvent::Event(StreamEvent::Final(_))
                    | TurnEvent::Retry { .. }
                    | TurnEvent::ToolBegins { .. }
                    | TurnEvent::ToolEnds { .. },
                ) => {}
                Some(TurnEvent::Event(event)) => is_read = send(TurnUpdate::Event(event)).await,
                None => break,
            }
            if !is_read {
                break;
            }
        }
        if !is_read || sender.is_closed() {
            return;
        }
        if let Some(outcome) = reply.outcome().await {
            guard.disarm();
            send(TurnUpdate::Ended(outcome)).await;
        }
    });
    Ok(receiver)
}

async fn streamed(api: &Api, bearer: &Bearer, submission: Submission) -> Result<Response, ApiError> {
    let updates = follow(api, bearer, submission).await?;
    let events = stream::unfold(updates, async |mut updates| {
        let (name, data) = match updates.recv().await? {
            TurnUpdate::Event(event) => dto::event(&event),
            TurnUpdate::Ended(outcome) => ("final", Value::Object(dto::outcome(&outcome))),
        };
        Some((Ok::<_, Infallible>(Event::default().event(name).data(data.to_string())), updates))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}
