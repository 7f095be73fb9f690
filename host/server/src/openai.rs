//! `/v1/chat/completions` and `/v1/models`: the agent, as a model of OpenAI's.

mod models;
mod request;
mod stream;

use super::body::{self, CallerClass};
use super::extract::Caller;
use super::token::Bearer;
use super::turns::{Attended, key, session};
use super::{Api, Problem, wire};
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_gateway::{Answer, HTTP, Letter};
use bub_runtime::channel::{kind_of, message};
use bub_runtime::turn::EPHEMERAL_PREFIX;
use bub_types::{Envelope, Error, ErrorKind};
use request::Request;
use serde_json::{Value, json};

pub(super) use models::{list as models, one as model};

/// A request with its media and what was said before, in bytes.
const MOST: usize = 32 << 20;

/// What names the session.
const SESSION: &str = "x-session-id";

/// What all parts of an answer say.
struct Frame {
    id: String,
    created: i64,
    model: String,
}

/// Takes the last message of a conversation, and answers it.
pub(super) async fn complete(
    Caller { api, bearer }: Caller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Problem> {
    bearer.needs(Scope::Turns)?;
    bearer.check_tokens(&api)?;
    api.gateway.check_open()?;
    let limits = (CallerClass::of(&bearer), MOST);
    let make = {
        let bearer = bearer.clone();
        move |request: Request| prepare(&bearer, &headers, request)
    };
    let (Prepared { mut letter, kept, model, stream, wants_usage }, charge) =
        body::json(&api, sent, limits, make).await?;
    letter.lease = Some(Box::new(charge));
    if let Some(model) = models::chosen(&api, &bearer, model.as_deref()).await? {
        letter.message.context.push(("model".to_owned(), Value::from(model).to_string()));
    }
    let frame = Frame {
        id: format!("chatcmpl-{}", chance()?),
        created: jiff::Timestamp::now().as_second(),
        model: model.unwrap_or_else(|| models::AGENT.to_owned()),
    };
    let answered = match stream {
        true => stream::streamed(&api, &bearer, letter, (frame, wants_usage)).await?,
        false => whole(&api, &bearer, letter, &frame).await?,
    };
    Ok(with_session(answered, kept))
}

/// What a request means.
struct Prepared {
    letter: Letter,
    /// The session, unless nothing of it is kept.
    kept: Option<String>,
    /// The model that it names.
    model: Option<String>,
    stream: bool,
    wants_usage: bool,
}

/// Checks a request and takes it apart.
fn prepare(bearer: &Bearer, headers: &HeaderMap, request: Request) -> Result<Prepared, Problem> {
    request.check()?;
    let (stream, wants_usage) = (request.stream.unwrap_or(false), request.wants_usage());
    let (letter, kept) = letter(bearer, headers, &request)?;
    Ok(Prepared { letter, kept, model: request.model, stream, wants_usage })
}

/// Says which session it was, where there will be one to go on with.
fn with_session(mut response: Response, session: Option<String>) -> Response {
    if let Some(Ok(session)) = session.as_deref().map(HeaderValue::from_str) {
        response.headers_mut().insert(SESSION, session);
    }
    response
}

/// The message as the gateway takes it, and its session unless nothing of that is kept.
fn letter(bearer: &Bearer, headers: &HeaderMap, request: &Request) -> Result<(Letter, Option<String>), Problem> {
    let named = match headers.get(SESSION) {
        Some(named) => Some(named.to_str().map_err(|_| Problem::bad("`X-Session-Id` is no ASCII text"))?.to_owned()),
        None => None,
    };
    let user = request.user.as_deref().filter(|user| !user.is_empty());
    let kept = match (named, user) {
        (None, None) => None,
        (named, user) => Some(session(bearer, named, user.unwrap_or("default"))?),
    };
    let id = key(bearer, headers)?;
    if id.is_some() && kept.is_none() {
        return Err(Problem::bad(
            "an `Idempotency-Key` needs a session that is kept: name one by `X-Session-Id` or by `user`",
        ));
    }
    let (session, reach) = match &kept {
        Some(session) => (session.clone(), bearer.reach.clone()),
        None => {
            // Nobody else's, and nowhere else: it is reached by this message alone.
            let session = format!("{EPHEMERAL_PREFIX}{}", chance()?);
            let reach = if bearer.reach.is_empty() { String::new() } else { session.clone() };
            (session, reach)
        }
    };
    let (content, passages, media) = request.said()?;
    let earlier = if kept.is_none() { request.earlier()? } else { Vec::new() };
    let speaker = bearer.speaker();
    let kind = kind_of(speaker.commands, &content);
    let chat = user.unwrap_or("default");
    let message = message(Some(session), [HTTP, chat, &bearer.name], &content, kind);
    let (passages, media) = (wire::passages(passages)?, wire::media(media)?);
    wire::takes_passages(kind, &passages)?;
    let message = Envelope { id, passages, media, ..message };
    Ok((
        Letter {
            message,
            speaker: Some(speaker),
            listener: None,
            reach,
            leave: None,
            earlier,
            lease: None,
            counted: Some(bearer.counted()),
        },
        kept,
    ))
}

async fn whole(api: &Api, bearer: &Bearer, letter: Letter, frame: &Frame) -> Result<Response, Problem> {
    let attended = Attended::new(&letter);
    let reply = bearer.hand_over(api, attended.leaves(letter)).await?;
    let answer = reply.answer().await.ok_or_else(Problem::stopping)?;
    attended.stays();
    if let Some(error) = &answer.error {
        return Err(failed(error));
    }
    let message = json!({ "role": "assistant", "content": answer.model_output, "refusal": null });
    let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
    let answer = json!({
        "id": frame.id,
        "object": "chat.completion",
        "created": frame.created,
        "model": frame.model,
        "choices": [choice],
        "usage": usage(&answer),
    });
    Ok(Json(answer).into_response())
}

fn usage(answer: &Answer) -> Value {
    wire::usage(&answer.usage)
}

/// A turn that failed. It may have done something before, so nobody is to try again by themselves.
fn failed(error: &Error) -> Problem {
    let status = match error.kind {
        ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorKind::Denied => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Problem::new(status, "turn_failed", error.message.clone()).once()
}

/// A name that nothing else has.
fn chance() -> Result<String, Problem> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(|error| Problem::internal(&error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
