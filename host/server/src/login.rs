//! `/v1/login`, `/v1/logout` and `/v1/me`: how a browser authenticates, and what it may do.

use super::body::{self, CallerClass};
use super::extract::Caller;
use super::logins::LOGIN_LIFETIME;
use super::token::Bearer;
use super::{Api, ApiError};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_runtime::hooks;
use bub_runtime::turn::{CallScope, SelectorChoice};
use bub_tape::workspace_tape_name;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The name of the cookie.
const COOKIE: &str = "bub_login";

/// The largest body of a login, in bytes.
const MAX_BODY: usize = 4096;

/// A one-time code, or a token.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    code: Option<String>,
    token: Option<String>,
}

/// `POST /v1/login`: exchanges a code or a token for a cookie.
pub(super) async fn login(State(api): State<Arc<Api>>, sent: Body) -> Result<Response, ApiError> {
    let (request, _charge) = body::json(&api, sent, (CallerClass::Unknown, MAX_BODY), Ok::<LoginRequest, _>).await?;
    let rules = api.auth.rules();
    let bearer = match (&request.code, &request.token) {
        (Some(code), None) => api.logins.redeem(&rules.tokens, code),
        (None, Some(token)) => rules.tokens.find(token.as_bytes()).cloned(),
        _ => return Err(ApiError::bad_request("a login has a `code` or a `token`")),
    };
    let Some(bearer) = bearer else {
        return Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "login_failed",
            "this code or token is not valid: `bub-wasm open` prints a new link, which can be used once",
        ));
    };
    bearer.take_request(&api)?;
    let cookie = api.logins.begin(&bearer).await?;
    let is_secure = rules.tls.is_some() || rules.behind_proxy;
    let header = set_cookie(&cookie, LOGIN_LIFETIME.as_secs(), is_secure)?;
    Ok(([(header::SET_COOKIE, header)], Json(about(&api, &bearer))).into_response())
}

/// `POST /v1/logout`: ends the login of the request's cookie.
pub(super) async fn logout(State(api): State<Arc<Api>>, headers: HeaderMap) -> Result<Response, ApiError> {
    if let Some(cookie) = cookie(&headers) {
        api.logins.end(cookie).await?;
    }
    let rules = api.auth.rules();
    let header = set_cookie("", 0, rules.tls.is_some() || rules.behind_proxy)?;
    Ok(([(header::SET_COOKIE, header)], Json(json!({}))).into_response())
}

/// `GET /v1/me`: what the caller is and may do.
pub(super) async fn me(Caller { api, bearer }: Caller) -> Json<Value> {
    Json(about(&api, &bearer))
}

fn about(api: &Api, bearer: &Bearer) -> Value {
    let host = api.gateway.host();
    let calls = CallScope::new(&host);
    let choice = SelectorChoice::configured(&host.config, "http");
    let scopes =
        [Scope::Turns, Scope::Read, Scope::Witness, Scope::Admin].into_iter().filter(|scope| bearer.may(*scope));
    json!({
        "name": bearer.name,
        "scopes": scopes.map(Scope::name).collect::<Vec<_>>(),
        "session_prefix": bearer.session_prefix,
        "principal": bearer.identity().principal.name(),
        "workspace": host.workspace.to_string_lossy(),
        "workspace_tape": workspace_tape_name(&host.workspace),
        "version": env!("CARGO_PKG_VERSION"),
        "model": host.config.model.model,
        "selectors": hooks::selectors(&calls).collect::<Vec<_>>(),
        "selector": hooks::active_selector(&calls, choice.as_ref()).name,
    })
}

/// The value of the login cookie.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// No script reads it, and no page of another site sends it.
fn set_cookie(value: &str, seconds: i64, is_secure: bool) -> Result<HeaderValue, ApiError> {
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).map_err(|error| ApiError::internal(&error))
}
