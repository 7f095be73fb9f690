//! The error responses of the API, in the format of OpenAI's.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_gateway::Refusal;
use serde_json::json;

/// An error response: `{"error": {"message", "type", "param", "code"}}`.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    /// The field of the request that is wrong.
    param: Option<&'static str>,
    message: String,
    /// Whether the response tells OpenAI's clients not to retry.
    no_retry: bool,
    /// Seconds after which a retry may succeed.
    retry_after: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, param: None, message: message.into(), no_retry: false, retry_after: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// A quota is used up until `seconds` from now.
    pub(crate) fn quota(message: impl Into<String>, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", message) }
    }

    /// The field `param` of the request is invalid.
    pub(crate) fn invalid_param(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::bad_request(message) }
    }

    /// Tells clients not to retry.
    pub(crate) fn without_retry(self) -> Self {
        Self { no_retry: true, ..self }
    }

    /// The body of the response.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
    }

    /// Whether the request was wrong, and not the program.
    pub(crate) fn is_callers(&self) -> bool {
        self.status.is_client_error()
    }

    pub(crate) fn into_message(self) -> String {
        self.message
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// The request has no valid token.
    pub(crate) fn unauthorized() -> Self {
        let message = "a token is needed: `Authorization: Bearer TOKEN`; the owner's is in `$BUB_HOME/serve.token`";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    pub(crate) fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the program stops; retry in a moment")
    }

    /// A fault of this program, which is logged.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!("a request failed: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the request failed; the log says why")
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many messages wait; try again in a moment")
            }
            Refusal::Stopping => Self::stopping(),
            Refusal::OutOfScope => Self::forbidden("this token does not reach the session of the message"),
            Refusal::IdempotencyConflict => Self::new(
                StatusCode::CONFLICT,
                "idempotency_conflict",
                "this `Idempotency-Key` was used for another message; use a new one",
            ),
            Refusal::Storage(error) => error.into(),
            // The handlers return a better error, because they know the token.
            Refusal::Quota(exceeded) => Self::quota(format!("the quota `{}` is used up", exceeded.key), 60),
        }
    }
}

/// A read or write that failed. The database of workers may be back in a moment; a disk of one process is not.
impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        if !error.is::<bub_tape::Error>() {
            return Self::internal(&error);
        }
        tracing::error!("a request failed: {error:#}");
        let message = "the database does not answer; try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", message)
    }
}

impl From<bub_tape::Error> for ApiError {
    fn from(error: bub_tape::Error) -> Self {
        use bub_tape::Error;
        match error {
            Error::InvalidInput(message) => Self::bad_request(message),
            Error::NotFound(message) => Self::not_found(message),
            Error::Busy { .. } => {
                let message = "a turn of this session runs for longer than `lock_wait` of config.toml; \
                               stop it, or try again when it has ended";
                Self::new(StatusCode::CONFLICT, "session_busy", message)
            }
            other => Self::internal(&other),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.to_json())).into_response();
        let headers = response.headers_mut();
        if self.no_retry {
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
