//! What is answered when something is not as it should be: one shape for all of it, which OpenAI's clients know.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_gateway::Refusal;
use serde_json::json;

/// An answer that is none: `{"error": {"message", "type", "param", "code"}}`.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    /// The part of the request that it is about.
    param: Option<&'static str>,
    message: String,
    /// OpenAI's clients try again by themselves unless they are told not to.
    is_final: bool,
    /// In how many seconds the same request may be answered.
    retry_after: Option<u64>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, param: None, message: message.into(), is_final: false, retry_after: None }
    }

    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// A quota is used up, and is there again in so many seconds.
    pub fn quota(message: impl Into<String>, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", message) }
    }

    /// That part of the request cannot be taken.
    pub fn of(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::bad(message) }
    }

    /// The same request would do the same again.
    pub fn once(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// As it is written.
    pub fn json(&self) -> serde_json::Value {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// Nobody is known who asks.
    pub fn unknown() -> Self {
        let message = "a token is needed: `Authorization: Bearer TOKEN`; the owner's stands in `$BUB_HOME/serve.token`";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    pub fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the program ends; try again in a moment")
    }

    /// Something of ours is broken; the log knows more.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!("a request failed: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the request failed; the log says why")
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many messages wait; try again in a moment")
            }
            Refusal::Stopping => Self::stopping(),
            Refusal::Elsewhere => Self::forbidden("this token does not reach the session of the message"),
            Refusal::Other => Self::new(
                StatusCode::CONFLICT,
                "idempotency_conflict",
                "this `Idempotency-Key` was used for another message; use a new one",
            ),
            Refusal::Records(error) => Self::internal(&error),
            // The handlers know whose quota it is, and say more.
            Refusal::Quota(exceeded) => Self::quota(format!("the quota `{}` is used up", exceeded.key), 60),
        }
    }
}

impl From<bub_tape::Error> for Problem {
    fn from(error: bub_tape::Error) -> Self {
        use bub_tape::Error;
        match error {
            Error::InvalidInput(message) => Self::bad(message),
            Error::NotFound(message) => Self::not_found(message),
            other => Self::internal(&other),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.json())).into_response();
        let headers = response.headers_mut();
        if self.is_final {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => drop(headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"))),
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}
