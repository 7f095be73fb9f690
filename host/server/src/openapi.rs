//! `GET /v1/openapi.json`: the API in OpenAPI's words. It says nothing that this project's pages do not, so it needs no
//! token.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// The document. A test compares it with the paths that are answered.
pub const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
