//! The API over HTTP: who may ask for what is decided here, and what comes of a message is the gateway's.

mod body;
mod channels;
mod guard;
mod listen;
mod problem;
mod token;
mod turns;
mod wire;

use crate::gateway::Gateway;
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use std::sync::Arc;

pub use listen::{Server, listen};
use problem::Problem;
pub use token::Tokens;

/// What all requests share.
pub(crate) struct Api {
    gateway: Arc<Gateway>,
    tokens: Tokens,
    guard: guard::Guard,
}

/// All paths, behind the checks that hold for every request.
fn router(api: Arc<Api>) -> Router {
    let open = Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/channels/{name}", post(channels::post))
        .route("/channels/{name}/{*rest}", post(channels::post));
    let v1 = Router::new().route("/v1/turns", post(turns::post));
    let known = v1.layer(from_fn_with_state(api.clone(), token::identify));
    open.merge(known)
        .fallback(async || Problem::not_found("there is nothing at this path; `/v1/openapi.json` lists what there is"))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not take this method")
        })
        // Each handler reads its body itself, within a bound and a time of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(api.clone(), guard::check))
        .with_state(api)
}

/// The process answers.
async fn healthy() -> &'static str {
    "ok\n"
}

/// New messages are taken.
async fn ready(State(api): State<Arc<Api>>) -> Result<&'static str, Problem> {
    if api.gateway.is_stopping() { Err(Problem::stopping()) } else { Ok("ok\n") }
}
