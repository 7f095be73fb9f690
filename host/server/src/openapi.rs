//! `GET /v1/openapi.json`: the OpenAPI document. It holds nothing secret, so it needs no token.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// The document. A test compares it with [`paths`](super::paths).
pub const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
