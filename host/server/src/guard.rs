//! What is asked of every request, before it is asked who makes it: a page in somebody's browser can send requests to this
//! machine too, and can have a name of its own lead here.

use super::body::lingering;
use super::{Api, Problem};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bub_config::Serve;
use std::sync::Arc;

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Headers of which a request has one: of two, a proxy may look at one and this program at the other.
const SINGLE: [HeaderName; 8] = [
    header::HOST,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::ORIGIN,
    SITE,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("x-session-id"),
];

/// Names that the program answers to, and pages that may use it.
pub(super) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub fn new(settings: &Serve) -> Self {
        let own = settings.listen.ip().to_string();
        let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let hosts = settings.hosts.iter().map(|host| host.to_ascii_lowercase());
        Self { hosts: loopback.into_iter().chain([own]).chain(hosts).collect(), origins: settings.origins.clone() }
    }

    /// A name that leads here without being one of ours was made to lead here.
    fn check_host(&self, request: &Request) -> Result<(), Problem> {
        let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let named = named.or_else(|| request.uri().authority().map(|authority| authority.as_str()));
        let name = named.map(|host| name_of(host).to_ascii_lowercase());
        match name {
            Some(name) if self.hosts.contains(&name) => Ok(()),
            _ => Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "unknown_host",
                "this program does not answer to that `Host`; `serve.hosts` of config.toml lists further names",
            )),
        }
    }

    /// A browser says which page a request comes from.
    fn check_page<'a>(&self, headers: &'a HeaderMap) -> Result<Option<&'a HeaderValue>, Problem> {
        let foreign = || {
            Problem::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "pages of this origin may not use the API; `serve.origins` of config.toml lists those that may",
            )
        };
        if let Some(origin) = headers.get(header::ORIGIN) {
            let is_known = self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes());
            return if is_known { Ok(Some(origin)) } else { Err(foreign()) };
        }
        match headers.get(SITE).map(HeaderValue::as_bytes) {
            None | Some(b"same-origin" | b"none") => Ok(None),
            Some(_) => Err(foreign()),
        }
    }
}

/// A request that can be understood in two ways is not answered in either. Of lengths, hyper has made one by now: of two
/// different ones it makes none, and beside `Transfer-Encoding` none counts and the connection ends behind the answer.
fn check_shape(request: &Request) -> Result<(), Problem> {
    if let Some(name) = SINGLE.iter().find(|name| request.headers().get_all(*name).iter().nth(1).is_some()) {
        return Err(Problem::bad(format!("the header `{name}` stands in the request more than once")));
    }
    let named = request.headers().get(header::HOST).map(HeaderValue::as_bytes);
    match (request.uri().authority(), named) {
        (Some(authority), Some(host)) if !authority.as_str().as_bytes().eq_ignore_ascii_case(host) => {
            Err(Problem::bad("the address of the request and its `Host` name different hosts"))
        }
        _ => Ok(()),
    }
}

/// Without the port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        // One that is not closed is none.
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// The checks, and what pages that may use the API are told.
pub(super) async fn check(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let request = lingering(request);
    let rules = api.door.rules();
    let guard = &rules.guard;
    if let Err(problem) = check_shape(&request) {
        let mut response = problem.into_response();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    if let Err(problem) = guard.check_host(&request) {
        return problem.into_response();
    }
    let origin = match guard.check_page(request.headers()) {
        Ok(origin) => origin.cloned(),
        Err(problem) => return problem.into_response(),
    };
    let mut response = match (&origin, request.method()) {
        // A browser asks before it sends what a page could not send by itself.
        (Some(_), &Method::OPTIONS) => StatusCode::NO_CONTENT.into_response(),
        (_, &Method::POST | &Method::PUT | &Method::PATCH) if !is_known(&request) && !is_webhook(&request) => {
            Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "a body is JSON here: send it with `Content-Type: application/json`",
            )
            .into_response()
        }
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let allowed = "Authorization, Content-Type, Idempotency-Key, X-Session-Id";
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Its far side sends what it likes, and shows to the channel that it may.
fn is_webhook(request: &Request) -> bool {
    request.uri().path().starts_with("/channels/")
}

/// Whether the body is of a kind that a page cannot send without asking first.
fn is_known(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // Lines of tapes are lines of JSON.
    let is_lines = request.uri().path().starts_with("/v1/tapes/") && kind.eq_ignore_ascii_case("application/jsonl");
    is_lines || kind.eq_ignore_ascii_case("application/json")
}
