//! Checks of every request before authentication. A web page in the user's browser can send requests to this machine, and
//! can point a host name of its own at it (DNS rebinding).

use super::body::lingering;
use super::{Api, ApiError, page};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bub_config::Serve;
use std::sync::Arc;
use tower::{Layer, ServiceExt};
use tower_http::cors::CorsLayer;

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");

/// Headers of the Model Context Protocol.
const MCP_SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const MCP: [HeaderName; 5] = [
    MCP_SESSION,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    HeaderName::from_static("last-event-id"),
];

/// Headers that may occur only once: a proxy and this program could read different ones.
const SINGLE: [HeaderName; 9] = [
    header::HOST,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::ORIGIN,
    SITE,
    IDEMPOTENCY_KEY,
    SESSION_ID,
    MCP_SESSION,
];

/// The host names of this program, and the origins of pages that may use it.
pub(crate) struct OriginPolicy {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl OriginPolicy {
    pub(crate) fn new(settings: &Serve) -> Self {
        let own = settings.listen.ip().to_string();
        let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let hosts = settings.hosts.iter().map(|host| host.to_ascii_lowercase());
        Self { hosts: loopback.into_iter().chain([own]).chain(hosts).collect(), origins: settings.origins.clone() }
    }

    /// Refuses host names that are not configured: another name that resolves to this machine is an attack.
    fn check_host(&self, request: &Request) -> Result<(), ApiError> {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(|authority| authority.as_str()));
        let name = host.map(|host| without_port(host).to_ascii_lowercase());
        match name {
            Some(name) if self.hosts.contains(&name) => Ok(()),
            _ => Err(ApiError::new(
                StatusCode::MISDIRECTED_REQUEST,
                "unknown_host",
                "this program does not answer to that `Host`; `serve.hosts` of config.toml lists further names",
            )),
        }
    }

    /// Refuses requests of pages whose origin is not configured, and returns the origin of others.
    fn check_origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, ApiError> {
        let foreign = || {
            ApiError::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "pages of this origin may not use the API; `serve.origins` of config.toml lists those that may",
            )
        };
        if is_same_origin(headers) && headers.contains_key(header::ORIGIN) {
            return Ok(None);
        }
        if let Some(origin) = headers.get(header::ORIGIN) {
            let is_known = self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes());
            return if is_known { Ok(Some(origin.clone())) } else { Err(foreign()) };
        }
        match headers.get(SITE).map(HeaderValue::as_bytes) {
            None | Some(b"same-origin" | b"none") => Ok(None),
            Some(_) => Err(foreign()),
        }
    }
}

/// Whether a request is not of a page of another origin. Both schemes count: the same host and port serve one of them, and
/// a proxy that ends TLS may forward the other.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN).map(HeaderValue::as_bytes) else { return true };
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
    let authority = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
    !host.is_empty() && authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// Refuses ambiguous requests. hyper has reduced several `Content-Length` to one by now: it refuses different ones, and
/// beside `Transfer-Encoding` it ignores them and closes the connection after the response.
fn check_shape(request: &Request) -> Result<(), ApiError> {
    if let Some(name) = SINGLE.iter().find(|name| request.headers().get_all(*name).iter().nth(1).is_some()) {
        return Err(ApiError::bad_request(format!("the request has more than one header `{name}`")));
    }
    let host = request.headers().get(header::HOST).map(HeaderValue::as_bytes);
    match (request.uri().authority(), host) {
        (Some(authority), Some(host)) if !authority.as_str().as_bytes().eq_ignore_ascii_case(host) => {
            Err(ApiError::bad_request("the address of the request and its `Host` name different hosts"))
        }
        _ => Ok(()),
    }
}

fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        // An IPv6 address without its closing bracket is invalid.
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Middleware: checks the host and the origin, and answers the pages of configured origins by CORS.
pub(crate) async fn check_request(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let request = lingering(request);
    let rules = api.auth.rules();
    let policy = &rules.origins;
    if let Err(error) = check_shape(&request) {
        let mut response = error.into_response();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    if let Err(error) = policy.check_host(&request) {
        return error.into_response();
    }
    // A link of another site may lead to the page, which holds nothing of the user.
    let is_navigation = *request.method() == Method::GET && page::is_shell(request.uri().path());
    let checked = if is_navigation { Ok(None) } else { policy.check_origin(request.headers()) };
    let mut response = match checked {
        Err(error) => return error.into_response(),
        Ok(None) => next.run(request).await,
        // Built for each request, because the origins can change while the program runs; and only for pages, because it
        // answers every `OPTIONS` as a preflight.
        Ok(Some(origin)) => {
            let named = [header::AUTHORIZATION, header::CONTENT_TYPE, IDEMPOTENCY_KEY, SESSION_ID];
            let mut cors = CorsLayer::new().allow_origin([origin]).allow_methods([Method::GET, Method::POST]);
            cors = match request.uri().path() == "/mcp" {
                true => cors
                    .allow_methods([Method::GET, Method::POST, Method::DELETE])
                    .allow_headers(named.into_iter().chain(MCP).collect::<Vec<_>>())
                    .expose_headers([MCP_SESSION]),
                false => cors.allow_headers(named),
            };
            cors.layer(next).oneshot(request).await.unwrap_or_else(|never| match never {})
        }
    };
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Middleware: refuses bodies of types that a page can send without a preflight.
pub(crate) async fn check_content_type(request: Request, next: Next) -> Response {
    let has_body = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
    // A channel checks its webhooks itself.
    let is_webhook = request.uri().path().starts_with("/channels/");
    if has_body && !is_webhook && !is_json(&request) {
        let message = "a body is JSON here: send it with `Content-Type: application/json`";
        return ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message).into_response();
    }
    next.run(request).await
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // Entries of tapes are sent as lines of JSON.
    let is_lines = request.uri().path().starts_with("/v1/tapes/") && kind.eq_ignore_ascii_case("application/jsonl");
    // A component is sent as it is; pages cannot send its type without a preflight either.
    let is_component = request.uri().path() == "/v1/plugins/inspect" && kind.eq_ignore_ascii_case("application/wasm");
    let is_heads = request.uri().path() == "/v1/witness" && kind.eq_ignore_ascii_case("application/x-ndjson");
    is_lines || is_component || is_heads || kind.eq_ignore_ascii_case("application/json")
}
