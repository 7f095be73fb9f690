//! `POST /channels/NAME`: webhooks. The channel authenticates their senders.

use super::body::{self, CallerClass};
use super::{Api, ApiError};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode};
use bub_gateway::WebhookError;
use bub_runtime::hooks::WebhookRequest;
use std::sync::Arc;

/// The largest body of a webhook, in bytes.
const MAX_BODY: usize = 1 << 20;

/// Headers that are not passed to the channel, because they concern this server alone.
const OWN_HEADERS: [&str; 3] = ["authorization", "cookie", "connection"];

/// Headers in which a reverse proxy names the origin of a request. Without a proxy, a client could forge them.
fn is_proxy_header(name: &str) -> bool {
    name == "forwarded" || name == "x-real-ip" || name.starts_with("x-forwarded-")
}

/// Passes a webhook to the channel that its path names, and returns the channel's response.
pub(super) async fn post(State(api): State<Arc<Api>>, request: Request) -> Result<Response<Body>, ApiError> {
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let rest = path.strip_prefix("/channels/").unwrap_or_default();
    let name = rest.split(['/', '?']).next().unwrap_or_default().to_owned();
    let not_found = || ApiError::not_found("no channel of this name takes webhooks");
    // The body is read only if the channel exists.
    if !api.gateway.takes_webhooks(&name) {
        return Err(not_found());
    }
    api.gateway.check_open()?;
    let behind_proxy = api.auth.rules().behind_proxy;
    let is_passed = |name: &str| !OWN_HEADERS.contains(&name) && (behind_proxy || !is_proxy_header(name));
    let headers = request.headers().iter().filter(|(name, _)| is_passed(name.as_str()));
    let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let mut webhook =
        WebhookRequest { method: request.method().to_string(), path, headers: headers.collect(), body: Vec::new() };
    // Only the channel can authenticate the sender.
    let received = body::read(&api, request.into_body(), CallerClass::Unknown, MAX_BODY).await?;
    webhook.body = received.bytes;
    let _charge = received.charge;
    let response = api.gateway.receive(&name, webhook).await.ok_or_else(not_found)?;
    let answer = response.map_err(|error| match error {
        WebhookError::Refused(refusal) => refusal.into(),
        WebhookError::Failed(failure) => {
            tracing::warn!("a webhook of channel `{name}`: {failure}");
            match failure.retry_after() {
                Some(_) => {
                    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "channel_busy", "the channel cannot take it now")
                }
                None => {
                    ApiError::new(StatusCode::BAD_GATEWAY, "channel_failed", "the channel failed; the log says why")
                }
            }
        }
    })?;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in answer.headers {
        let name = axum::http::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}
