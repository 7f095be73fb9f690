//! The routes, and the middleware of all of them.

use super::{
    Api, ApiError, approvals, channels, events, log, login, mcp, metrics, openai, openapi, origin_check, page, plugins,
    readiness, status, stream, tapes, token, turns, witness,
};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;

type Route = (&'static str, &'static [&'static str], MethodRouter<Arc<Api>>);

const GET: &[&str] = &["get"];
const POST: &[&str] = &["post"];

/// Routes without authentication.
fn public_routes() -> Vec<Route> {
    vec![
        ("/healthz", GET, get(status::healthy)),
        ("/livez", GET, get(readiness::live)),
        ("/readyz", GET, get(readiness::ready)),
        ("/channels/{name}", POST, post(channels::post)),
        ("/v1/openapi.json", GET, get(openapi::document)),
        ("/v1/login", POST, post(login::login)),
        ("/v1/logout", POST, post(login::logout)),
    ]
}

/// Routes that need a token.
fn token_routes() -> Vec<Route> {
    vec![
        ("/metrics", GET, get(metrics::metrics)),
        ("/mcp", &["get", "post", "delete"], get(mcp::handle).post(mcp::handle).delete(mcp::handle)),
        ("/v1/me", GET, get(login::me)),
        ("/v1/turns", POST, post(turns::post)),
        ("/v1/chat/completions", POST, post(openai::complete)),
        ("/v1/models", GET, get(openai::models)),
        ("/v1/models/{model}", GET, get(openai::model)),
        ("/v1/approvals", GET, get(approvals::list)),
        ("/v1/approvals/stream", GET, get(approvals::stream)),
        ("/v1/approvals/{id}", POST, post(approvals::decide)),
        ("/v1/events", GET, get(events::events)),
        ("/v1/hooks", GET, get(status::hooks)),
        ("/v1/plugins", GET, get(plugins::list)),
        ("/v1/plugins/inspect", POST, post(plugins::inspect)),
        ("/v1/plugins/{name}/add", POST, post(plugins::add)),
        ("/v1/plugins/{name}/grant", POST, post(plugins::grant)),
        ("/v1/plugins/{name}/revoke", POST, post(plugins::revoke)),
        ("/v1/plugins/{name}/rollback", POST, post(plugins::rollback)),
        ("/v1/plugins/{name}/unquarantine", POST, post(plugins::unquarantine)),
        ("/v1/usage", GET, get(status::usage)),
        ("/v1/log", GET, get(log::stream)),
        ("/v1/running", GET, get(status::running)),
        ("/v1/commands", GET, get(status::commands)),
        ("/v1/witness", &["get", "post"], get(witness::read).post(witness::post)),
        ("/v1/sessions", GET, get(tapes::sessions)),
        ("/v1/sessions/{session}", GET, get(tapes::session)),
        ("/v1/sessions/{session}/stream", GET, get(stream::stream)),
        ("/v1/sessions/{session}/stop", POST, post(turns::stop)),
        ("/v1/sessions/{session}/name", POST, post(tapes::name)),
        ("/v1/sessions/{session}/archive", POST, post(tapes::archive)),
        ("/v1/sessions/{session}/fork", POST, post(tapes::fork)),
        ("/v1/sessions/{session}/handoff", POST, post(tapes::handoff)),
        ("/v1/sessions/{session}/export", GET, get(tapes::export)),
        ("/v1/sessions/{session}/outline", GET, get(tapes::outline)),
        ("/v1/sessions/{session}/selection", GET, get(tapes::selection)),
        ("/v1/sessions/{session}/blame", GET, get(tapes::blame)),
        ("/v1/sessions/{session}/decisions", GET, get(tapes::decisions)),
        ("/v1/sessions/{session}/decisions/{id}", GET, get(tapes::decision)),
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

/// All paths with their methods.
pub fn paths() -> Vec<(&'static str, &'static [&'static str])> {
    public_routes().into_iter().chain(token_routes()).map(|(path, methods, _)| (path, methods)).collect()
}

fn to_router(routes: Vec<Route>) -> Router<Arc<Api>> {
    routes.into_iter().fold(Router::new(), |router, (path, _, handlers)| router.route(path, handlers))
}

pub(super) fn router(api: Arc<Api>) -> Router {
    let authenticated = to_router(token_routes()).layer(from_fn_with_state(api.clone(), token::authenticate));
    to_router(public_routes())
        // A channel may have paths of its own.
        .route("/channels/{name}/{*rest}", post(channels::post))
        // The page is for people, and not a part of the API.
        .route("/", get(page::shell))
        .route("/ui/{*file}", get(page::file))
        .merge(authenticated)
        .fallback(async || ApiError::not_found("there is nothing at this path; `/v1/openapi.json` lists the paths"))
        .method_not_allowed_fallback(async || {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not take this method")
        })
        // Each handler reads its body itself, within its own bound and time.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(origin_check::check_content_type))
        .layer(from_fn_with_state(api.clone(), origin_check::check_request))
        .with_state(api)
}
