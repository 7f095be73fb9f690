//! What is answered when something is not as it should be: one shape for all of it, which OpenAI's clients know.

use crate::gateway::Refusal;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An answer that is none: `{"error": {"message", "type", "code"}}`.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
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
        }
    }
}

impl From<crate::tape::Error> for Problem {
    fn from(error: crate::tape::Error) -> Self {
        use crate::tape::Error;
        match error {
            Error::InvalidInput(message) => Self::bad(message),
            Error::NotFound(message) => Self::not_found(message),
            other => Self::internal(&other),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        let body = json!({ "error": { "message": self.message, "type": kind, "code": self.code } });
        let mut response = (self.status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
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
