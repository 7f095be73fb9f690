//! `/v1/chat/completions` and `/v1/models`: the agent behind OpenAI's API.

mod models;
mod request;
mod stream;

use super::body::{self, CallerClass};
use super::extract::Caller;
use super::secrets::{random_bytes, to_hex};
use super::token::Bearer;
use super::turns::{CancelOnDisconnect, idempotency_key, session, trace};
use super::{Api, ApiError, dto};
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_gateway::{HTTP, Submission, TurnOutcome};
use bub_runtime::channel::{kind_of, message};
use bub_types::EPHEMERAL_PREFIX;
use bub_types::{Envelope, Error, ErrorKind};
use request::Request;
use serde_json::{Value, json};

pub(super) use models::{get as model, list as models};

/// The largest body, with media and the whole conversation, in bytes.
const MAX_BODY: usize = 32 << 20;

/// The header that names the session.
const SESSION_HEADER: &str = "x-session-id";

/// The fields that all chunks of a response share.
struct ResponseHeader {
    id: String,
    created: i64,
    model: String,
}

/// Submits the last message of a conversation, and returns or streams the answer.
pub(super) async fn complete(
    Caller { api, bearer }: Caller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    bearer.needs(Scope::Turns)?;
    bearer.check_tokens(&api).await?;
    api.gateway.check_open()?;
    let limits = (CallerClass::from_bearer(&bearer), MAX_BODY);
    let convert = {
        let bearer = bearer.clone();
        move |request: Request| prepare(&bearer, &headers, request)
    };
    let (PreparedRequest { mut submission, kept_session, model, stream, wants_usage }, charge) =
        body::json(&api, sent, limits, convert).await?;
    submission.lease = Some(Box::new(charge));
    if let Some(model) = models::resolve(&api, &bearer, model.as_deref()).await? {
        submission.message.context.push(("model".to_owned(), Value::from(model).to_string()));
    }
    let header = ResponseHeader {
        id: format!("chatcmpl-{}", random_id()?),
        created: jiff::Timestamp::now().as_second(),
        model: model.unwrap_or_else(|| models::AGENT.to_owned()),
    };
    let response = match stream {
        true => stream::streamed(&api, &bearer, submission, (header, wants_usage)).await?,
        false => complete_response(&api, &bearer, submission, &header).await?,
    };
    Ok(with_session(response, kept_session))
}

/// A request that was checked.
struct PreparedRequest {
    submission: Submission,
    /// The session, unless it is ephemeral.
    kept_session: Option<String>,
    /// The model that the request names.
    model: Option<String>,
    stream: bool,
    wants_usage: bool,
}

/// Checks and converts a request.
fn prepare(bearer: &Bearer, headers: &HeaderMap, request: Request) -> Result<PreparedRequest, ApiError> {
    request.check()?;
    let (stream, wants_usage) = (request.stream.unwrap_or(false), request.wants_usage());
    let (submission, kept_session) = submission(bearer, headers, &request)?;
    Ok(PreparedRequest { submission, kept_session, model: request.model, stream, wants_usage })
}

/// Adds the header that names the session, if it can be continued.
fn with_session(mut response: Response, session: Option<String>) -> Response {
    if let Some(Ok(session)) = session.as_deref().map(HeaderValue::from_str) {
        response.headers_mut().insert(SESSION_HEADER, session);
    }
    response
}

/// The message for the gateway, and its session unless that is ephemeral.
fn submission(
    bearer: &Bearer,
    headers: &HeaderMap,
    request: &Request,
) -> Result<(Submission, Option<String>), ApiError> {
    let named = match headers.get(SESSION_HEADER) {
        Some(named) => {
            Some(named.to_str().map_err(|_| ApiError::bad_request("`X-Session-Id` is not ASCII text"))?.to_owned())
        }
        None => None,
    };
    let user = request.user.as_deref().filter(|user| !user.is_empty());
    let kept_session = match (named, user) {
        (None, None) => None,
        (named, user) => Some(session(bearer, named, user.unwrap_or("default"))?),
    };
    let id = idempotency_key(bearer, headers)?;
    if id.is_some() && kept_session.is_none() {
        return Err(ApiError::bad_request(
            "an `Idempotency-Key` needs a session that is kept: name one by `X-Session-Id` or by `user`",
        ));
    }
    let (session, session_prefix) = match &kept_session {
        Some(session) => (session.clone(), bearer.session_prefix.clone()),
        None => {
            // Only this message reaches the session.
            let session = format!("{EPHEMERAL_PREFIX}{}", random_id()?);
            let prefix = if bearer.session_prefix.is_empty() { String::new() } else { session.clone() };
            (session, prefix)
        }
    };
    let (content, passages, media) = request.last_message()?;
    let earlier = if kept_session.is_none() { request.earlier()? } else { Vec::new() };
    let identity = bearer.identity();
    let kind = kind_of(identity.commands, &content);
    let chat = user.unwrap_or("default");
    let message = message(Some(session), [HTTP, chat, &bearer.name], &content, kind);
    let (passages, media) = (dto::passages(passages)?, dto::media(media)?);
    dto::check_passages(kind, &passages)?;
    let message = Envelope { id, passages, media, ..message };
    Ok((
        Submission {
            message,
            identity: Some(identity),
            listener: None,
            session_prefix,
            leave: None,
            earlier,
            lease: None,
            quota_account: Some(bearer.quota_account()),
            call: None,
            trace: trace(headers),
        },
        kept_session,
    ))
}

async fn complete_response(
    api: &Api,
    bearer: &Bearer,
    submission: Submission,
    header: &ResponseHeader,
) -> Result<Response, ApiError> {
    let guard = CancelOnDisconnect::new(&submission);
    let reply = bearer.submit(api, guard.attach(submission)).await?;
    let outcome = reply.outcome().await.ok_or_else(ApiError::stopping)?;
    guard.disarm();
    if let Some(error) = &outcome.error {
        return Err(turn_failed(error));
    }
    let message = json!({ "role": "assistant", "content": outcome.model_output, "refusal": null });
    let choice = json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" });
    let body = json!({
        "id": header.id,
        "object": "chat.completion",
        "created": header.created,
        "model": header.model,
        "choices": [choice],
        "usage": usage(&outcome),
    });
    Ok(Json(body).into_response())
}

fn usage(outcome: &TurnOutcome) -> Value {
    dto::usage(&outcome.usage)
}

/// The response to a turn that failed. Its tools may have had an effect, so clients must not retry by themselves.
fn turn_failed(error: &Error) -> ApiError {
    let status = match error.kind {
        ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorKind::Denied => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    ApiError::new(status, "turn_failed", error.message.clone()).without_retry()
}

/// A random id.
fn random_id() -> Result<String, ApiError> {
    Ok(to_hex(&random_bytes::<12>()?))
}
