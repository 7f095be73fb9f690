//! `POST /v1/turns`: one message, and what comes of it.

use super::body::{self, CallerClass};
use super::extract::Caller;
use super::token::Bearer;
use super::{Api, Problem, wire};
use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_gateway::{HTTP, Letter, Reply};
use bub_runtime::channel::{kind_of, message};
use bub_runtime::turn::TurnEvent;
use bub_types::{Envelope, StreamEvent};
use futures_util::stream;
use serde::Deserialize;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// A message with its attachments, in bytes: [20 MB of them](bub_runtime::channel::attach) in base64, and a long letter.
const MOST: usize = 32 << 20;

/// Events that wait for whoever reads them.
const EVENTS: usize = 64;

/// How long a reader may leave an event lying. A turn waits for its listener, and must not wait for one who is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// A message, as it is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    /// What the sender wrote, and nothing else.
    content: String,
    /// Text of other authors.
    #[serde(default)]
    passages: Vec<wire::Passage>,
    session_id: Option<String>,
    channel: Option<String>,
    chat_id: Option<String>,
    #[serde(default)]
    media: Vec<wire::Media>,
}

/// Takes a message and answers with what came of it, at once or as it goes.
pub(super) async fn post(Caller { api, bearer }: Caller, headers: HeaderMap, sent: Body) -> Result<Response, Problem> {
    bearer.needs(Scope::Turns)?;
    bearer.check_tokens(&api)?;
    api.gateway.check_open()?;
    let limits = (CallerClass::of(&bearer), MOST);
    let make = {
        let (headers, bearer) = (headers.clone(), bearer.clone());
        move |said: Said| letter(&bearer, &headers, said)
    };
    let (letter, charge) = body::json(&api, sent, limits, make).await?;
    let letter = Letter { lease: Some(Box::new(charge)), ..letter };
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepted.contains("text/event-stream") {
        return streamed(&api, &bearer, letter).await;
    }
    let attended = Attended::new(&letter);
    let reply = bearer.hand_over(&api, attended.leaves(letter)).await?;
    let answer = reply.answer().await.ok_or_else(Problem::stopping)?;
    attended.stays();
    Ok(axum::Json(Value::Object(wire::answer(&answer))).into_response())
}

fn letter(bearer: &Bearer, headers: &HeaderMap, said: Said) -> Result<Letter, Problem> {
    let Said { content, passages, session_id, channel, chat_id, media } = said;
    let channel = channel.unwrap_or_else(|| HTTP.to_owned());
    if channel != HTTP {
        // What is said on another channel is answered there, to people.
        bearer.needs(Scope::Admin)?;
    }
    let chat_id = chat_id.unwrap_or_else(|| "default".to_owned());
    let session = session(bearer, session_id, &chat_id)?;
    let speaker = bearer.speaker();
    let kind = kind_of(speaker.commands, &content);
    let (passages, media) = (wire::passages(passages)?, wire::media(media)?);
    wire::takes_passages(kind, &passages)?;
    let message = message(Some(session), [&channel, &chat_id, &bearer.name], &content, kind);
    let message = Envelope { id: key(bearer, headers)?, passages, media, ..message };
    let reach = bearer.reach.clone();
    Ok(Letter {
        message,
        speaker: Some(speaker),
        listener: None,
        reach,
        leave: None,
        earlier: Vec::new(),
        lease: None,
        counted: Some(bearer.counted()),
    })
}

/// The session that is named, or one for the chat within what the token reaches.
///
/// # Errors
///
/// The token does not reach it, or none may be called so.
pub(super) fn session(bearer: &Bearer, named: Option<String>, chat_id: &str) -> Result<String, Problem> {
    let session = named.unwrap_or_else(|| format!("{}{HTTP}:{chat_id}", bearer.reach));
    let is_plain = (1..=256).contains(&session.len()) && !session.chars().any(char::is_control);
    if !is_plain || session.starts_with("temp/") {
        return Err(Problem::bad(
            "a session's id has 1 to 256 bytes, no control characters, and does not begin with `temp/`",
        ));
    }
    bearer.reaches(&session)?;
    Ok(session)
}

/// What the client calls its message, so that it can be sent again: as far as this token's messages go.
pub(super) fn key(bearer: &Bearer, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(format!("{}/{key}", bearer.name))),
        _ => Err(Problem::bad("an `Idempotency-Key` has 1 to 255 visible ASCII characters")),
    }
}

/// Ends a turn when whoever asked for it leaves: what is dropped then is this. A message with a key can be asked for
/// again, so its turn goes on.
pub(super) struct Attended(Option<watch::Sender<bool>>);

impl Attended {
    pub fn new(letter: &Letter) -> Self {
        Self(letter.message.id.is_none().then(|| watch::Sender::new(false)))
    }

    pub fn leaves(&self, letter: Letter) -> Letter {
        Letter { leave: self.0.as_ref().map(watch::Sender::subscribe), ..letter }
    }

    /// The turn has ended.
    pub fn stays(mut self) {
        self.0 = None;
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(leave) = &self.0 {
            leave.send_replace(true);
        }
    }
}

/// What is heard of a turn, for as long as somebody reads it, and then what came of it.
pub(super) enum Told {
    Heard(StreamEvent),
    Ended(Arc<bub_gateway::Answer>),
}

/// Listens to a turn on behalf of a reader, who may be slow.
pub(super) async fn follow(api: &Api, bearer: &Bearer, letter: Letter) -> Result<mpsc::Receiver<Told>, Problem> {
    let attended = Attended::new(&letter);
    let (listener, mut heard) = mpsc::channel(EVENTS);
    let (sender, receiver) = mpsc::channel(EVENTS);
    let letter = Letter { listener: Some(listener), ..attended.leaves(letter) };
    let reply: Reply = bearer.hand_over(api, letter).await?;
    tokio::spawn(async move {
        let tell = async |told| matches!(timeout(PATIENCE, sender.send(told)).await, Ok(Ok(())));
        let mut is_read = true;
        loop {
            let event = tokio::select! {
                event = heard.recv() => event,
                () = sender.closed() => None,
            };
            match event {
                // The last one says what came of it all.
                Some(
                    TurnEvent::Event(StreamEvent::Final(_))
                    | TurnEvent::Retry { .. }
                    | TurnEvent::ToolBegins { .. }
                    | TurnEvent::ToolEnds { .. },
                ) => {}
                Some(TurnEvent::Event(event)) => is_read = tell(Told::Heard(event)).await,
                None => break,
            }
            if !is_read {
                break;
            }
        }
        if !is_read || sender.is_closed() {
            return;
        }
        if let Some(answer) = reply.answer().await {
            attended.stays();
            tell(Told::Ended(answer)).await;
        }
    });
    Ok(receiver)
}

async fn streamed(api: &Api, bearer: &Bearer, letter: Letter) -> Result<Response, Problem> {
    let told = follow(api, bearer, letter).await?;
    let events = stream::unfold(told, async |mut told| {
        let (name, data) = match told.recv().await? {
            Told::Heard(event) => wire::event(&event),
            Told::Ended(answer) => ("final", Value::Object(wire::answer(&answer))),
        };
        Some((Ok::<_, Infallible>(Event::default().event(name).data(data.to_string())), told))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}
