//! All paths, behind the checks that hold for every request.

use super::{Api, Problem, about, channels, guard, live, metrics, openai, openapi, tapes, token, turns};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;

type Route = (&'static str, &'static [&'static str], MethodRouter<Arc<Api>>);

const GET: &[&str] = &["get"];
const POST: &[&str] = &["post"];

/// What is answered without a token.
fn open() -> Vec<Route> {
    vec![
        ("/healthz", GET, get(about::healthy)),
        ("/readyz", GET, get(about::ready)),
        ("/channels/{name}", POST, post(channels::post)),
        ("/v1/openapi.json", GET, get(openapi::document)),
    ]
}

/// What is answered to whoever has one.
fn known() -> Vec<Route> {
    vec![
        ("/metrics", GET, get(metrics::metrics)),
        ("/v1/turns", POST, post(turns::post)),
        ("/v1/chat/completions", POST, post(openai::complete)),
        ("/v1/models", GET, get(openai::models)),
        ("/v1/models/{model}", GET, get(openai::model)),
        ("/v1/events", GET, get(live::events)),
        ("/v1/hooks", GET, get(about::hooks)),
        ("/v1/plugins", GET, get(about::plugins)),
        ("/v1/sessions", GET, get(tapes::sessions)),
        ("/v1/sessions/{session}", GET, get(tapes::session)),
        ("/v1/sessions/{session}/entries", GET, get(tapes::entries)),
        ("/v1/sessions/{session}/anchors", GET, get(tapes::session_anchors)),
        ("/v1/sessions/{session}/context", GET, get(tapes::session_context)),
        ("/v1/sessions/{session}/search", GET, get(tapes::session_search)),
        ("/v1/tapes", GET, get(tapes::names)),
        ("/v1/tapes/{tape}", GET, get(tapes::tape)),
        ("/v1/tapes/{tape}/entries", &["get", "post"], get(tapes::lines).post(tapes::write)),
        ("/v1/tapes/{tape}/newest", GET, get(tapes::newest)),
        ("/v1/tapes/{tape}/query", GET, get(tapes::query)),
        ("/v1/tapes/{tape}/sidecars", GET, get(tapes::sidecars)),
        ("/v1/tapes/{tape}/archive-name", GET, get(tapes::archive_name)),
        ("/v1/tapes/{tape}/anchors", GET, get(tapes::anchors)),
        ("/v1/tapes/{tape}/context", GET, get(tapes::context)),
        ("/v1/tapes/{tape}/search", GET, get(tapes::search)),
    ]
}

/// All paths with their methods, as the program answers them.
pub fn paths() -> Vec<(&'static str, &'static [&'static str])> {
    open().into_iter().chain(known()).map(|(path, methods, _)| (path, methods)).collect()
}

fn routed(routes: Vec<Route>) -> Router<Arc<Api>> {
    routes.into_iter().fold(Router::new(), |router, (path, _, answers)| router.route(path, answers))
}

pub(super) fn router(api: Arc<Api>) -> Router {
    let known = routed(known()).layer(from_fn_with_state(api.clone(), token::identify));
    routed(open())
        // A channel may have paths of its own; what they are it knows alone.
        .route("/channels/{name}/{*rest}", post(channels::post))
        .merge(known)
        .fallback(async || Problem::not_found("there is nothing at this path; `/v1/openapi.json` lists what there is"))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not take this method")
        })
        // Each handler reads its body itself, within a bound and a time of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(api.clone(), guard::check))
        .with_state(api)
}
